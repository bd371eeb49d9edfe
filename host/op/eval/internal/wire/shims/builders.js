// The builders of @intentius/chant/op: each makes a step as JSON has it.

function Op(config) {
  const resource = {};
  Object.defineProperty(resource, "props", { value: config, enumerable: false });
  return resource;
}

function phase(name, steps, opts) {
  return opts?.parallel ? { name, steps, parallel: true } : { name, steps };
}

function activity(fn, args, profile) {
  const step = { kind: "activity", fn };
  if (args && Object.keys(args).length > 0) step.args = args;
  if (profile) step.profile = profile;
  return step;
}

function gate(signalName, opts) {
  const step = { kind: "gate", signalName };
  if (opts?.timeout) step.timeout = opts.timeout;
  if (opts?.description) step.description = opts.description;
  // Ours: chant has neither.
  for (const key of ["bind", "evidence"]) if (opts?.[key]) step[key] = opts[key];
  return step;
}

// builder makes the builder of an activity that takes its arguments by position
// and then a bag of options. The bag's profile belongs to the step; all else in
// it comes after the positional arguments, and may replace them.
function builder(fn, names, profile) {
  return (...values) => {
    const args = {};
    names.forEach((name, i) => { args[name] = values[i]; });
    const { profile: chosen, ...rest } = values[names.length] ?? {};
    return activity(fn, { ...args, ...rest }, chosen ?? profile);
  };
}

const builders = {
  Op, phase, activity, gate,
  build: builder("chantBuild", ["path"]),
  kubectlApply: builder("kubectlApply", ["manifest"], "longInfra"),
  helmInstall: builder("helmInstall", ["name", "chart"], "longInfra"),
  waitForStack: builder("waitForStack", ["name"], "k8sWait"),
  waitForReady: builder("waitForReady", ["kind", "name"], "k8sWait"),
  gitlabPipeline: builder("gitlabPipeline", ["name"], "longInfra"),
  lifecycleSnapshot: (env) => activity("lifecycleSnapshot", { env }),
  // A cwd among the options is dropped, as chant does it.
  shell: (cmd, opts) => activity("shellCmd", opts?.env ? { cmd, env: opts.env } : { cmd }, opts?.profile),
  teardown: (path) => activity("chantTeardown", { path }, "longInfra"),
  k3dUp: builder("k3dUp", ["name"], "longInfra"),
  k3dDown: builder("k3dDown", ["name"], "fastIdempotent"),
  httpCheck: builder("httpCheck", ["url"], "fastIdempotent"),
  azGroupEnsure: builder("azGroupEnsure", ["resourceGroup"], "fastIdempotent"),
  azGroupDelete: builder("azGroupDelete", ["resourceGroup"], "fastIdempotent"),
  azApply: builder("azApply", ["templatePath"], "longInfra"),
  azDelete: builder("azDelete", ["templatePath"], "longInfra"),
  awsApply: builder("awsApply", ["templatePath"], "longInfra"),
  awsDelete: builder("awsDelete", ["templatePath"], "longInfra"),
  gcpApply: builder("gcpApply", ["manifestPath"], "longInfra"),
  gcpDelete: builder("gcpDelete", ["manifestPath"], "longInfra"),
  policyGate: (opts) => activity("policyGate", opts?.env ? { path: opts.path ?? ".", env: opts.env } : { path: opts?.path ?? "." }, "policyCheck"),
};
for (const name of ["floci", "flociAz", "flociGcp"]) {
  builders[name + "Up"] = builder(name + "Up", [], "longInfra");
  builders[name + "Down"] = builder(name + "Down", [], "fastIdempotent");
}

const sprites = {};
for (const name of ["spriteCreate", "spriteExec", "spriteCheckpoint", "spriteRestore", "spritesUp"]) {
  sprites[name] = builder(name, [], "longInfra");
}
for (const name of [
  "listCheckpoints", "spriteDestroy", "spriteWriteFile", "spriteReadFile", "spriteListDir", "spriteRemove", "spriteApplyNetworkPolicy",
  "spriteApplyServices", "spriteTaskCreate", "spriteTaskRefresh", "spriteTaskRelease", "spritesDown",
]) {
  sprites[name] = builder(name, [], "fastIdempotent");
}

const fly = {
  flapsUp: builder("flapsUp", [], "longInfra"),
  flapsDown: builder("flapsDown", [], "fastIdempotent"),
  flyApplyStep: builder("flyApply", ["planPath"], "longInfra"),
};

const cedar = {
  dogwoodReplayStep: builder("dogwoodReplay", [], "policyCheck"),
  dogwoodReplayReportStep: builder("dogwoodReplayReport", [], "fastIdempotent"),
};
