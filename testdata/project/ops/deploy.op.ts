import { Op, gate, phase, shell } from "@intentius/chant-lexicon-temporal";

import { announce, regions } from "./lib/regions";

// Builds, waits for a person, then deploys to each region after the other.
export default Op({
  name: "deploy",
  overview: "Deploys to every region, after an approval",
  depends: ["check"],
  phases: [
    phase("Build", [shell("cat envs/*.txt >/dev/null && echo built")]),
    phase("Approve", [gate("approve-deploy", { timeout: "24h", description: "Deploy to " + regions.join(" and ") + "?" })]),
    ...regions.map((region) => phase(`Deploy ${region}`, [shell(announce(region), { env: { REGION: region } })])),
  ],
});
