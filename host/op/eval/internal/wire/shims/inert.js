// A name that no shim knows stands for itself: it can be imported, called, and
// read from, as generated resources are in files that hold an Op beside them.
// Where it would become part of the Op, or text, its value would be made up; then
// the file fails, even if it catches the error.

function inert(name) {
  const leak = (how) => () => {
    if (!inertNames.includes(name)) inertNames.push(name);
    throw refuse(`it uses ${name}, which is not known here, and ${how}`);
  };
  const becomesText = leak("its value would be turned into text or a number");
  const becomesPart = leak("its value would become part of the Op");
  return new Proxy(function () {}, {
    __proto__: null,
    get(target, key) {
      switch (key) {
        case Symbol.toPrimitive: case "toString": case "valueOf": case "toLocaleString": return becomesText;
        case "toJSON": return becomesPart;
        case Symbol.iterator: case Symbol.asyncIterator: return leak("its elements would be made up");
        case "then": return undefined; // it can be awaited
        case "prototype": return target.prototype;
      }
      return typeof key === "symbol" ? undefined : inert(`${name}.${key}`);
    },
    apply() { return inert(`${name}()`); },
    construct() { return inert(`new ${name}()`); },
    ownKeys: leak("its fields would be made up"),
    set() { return true; },
  });
}

// moduleOf makes what a package exports: what we know, and inert names for all
// else. The names come from the prototype, because that is what esbuild keeps of
// a module that it did not bundle.
function moduleOf(pkg, known) {
  const unknown = new Proxy(Object.create(null), {
    __proto__: null,
    get(_, key) { return typeof key === "symbol" ? undefined : inert(`${key} of ${pkg}`); },
    has() { return true; },
  });
  // A default import is a name of the module, too, and not the module.
  return Object.defineProperty(Object.assign(Object.create(unknown), known), "__esModule", { value: true });
}
