// What the evaluator calls: boot before a file, module for each package that the
// file imports, finish after it.

const packages = {
  "@intentius/chant/op": () => ({ ...builders, ...sprites }),
  "@intentius/chant-lexicon-temporal": () => ({ ...temporal, TEMPORAL_ACTIVITY_PROFILES: profiles }),
  "@intentius/chant-lexicon-fly": () => ({ ...fly, ...sprites, flyDeploy }),
  "@intentius/chant-lexicon-cedar": () => ({ ...cedar, PolicyReplayOp }),
};

let profiles = {};
const loaded = {};
const stringify = JSON.stringify;

function hidden(name, value) {
  Object.defineProperty(globalThis, name, { value, enumerable: false, writable: false, configurable: false });
}

hidden("__chant_boot", (text) => {
  const { env, cwd, activityProfiles } = JSON.parse(text);
  profiles = activityProfiles;
  environment(env, cwd);
  withoutClock();
});

hidden("__chant_module", (pkg) => (loaded[pkg] ??= moduleOf(pkg, packages[pkg]?.())));

hidden("__chant_finish", (exported) => {
  const answer = { __proto__: null }; // so that no toJSON of the file's changes it
  const found = exported?.default;
  const props = found !== null && (typeof found === "object" || typeof found === "function") ? found.props : undefined;
  if (inertNames.length > 0) {
    answer.error = `it uses ${inertNames.join(", ")}, which is not known here, where a value is needed`;
  } else if (!exported || !("default" in exported)) {
    answer.error = "it has no default export; end it with: export default Op({ … })";
  } else if (props === null || typeof props !== "object") {
    answer.error = "its default export is not an Op; end it with: export default Op({ … })";
  } else if (typeof props.name !== "string" || !Array.isArray(props.phases)) {
    answer.error = "its default export is not an Op: name or phases are missing";
  } else {
    answer.config = stringify(props);
  }
  return stringify(answer);
});
