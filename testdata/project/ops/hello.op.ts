import { Op, phase, shell } from "@intentius/chant-lexicon-temporal";

export default Op({
  name: "hello",
  overview: "Says hello",
  phases: [phase("Greet", [shell("echo hello")])],
});
