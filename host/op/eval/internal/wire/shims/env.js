// What an Op's file finds around it: process.env and process.cwd(), and no clock,
// no chance and nothing else of Node. An Op is to be the same whenever it is
// read, or a run could not be resumed.

const inertNames = []; // names that became something else than themselves

// What is used after the file has run its first line is taken before: the file
// can put something else in its place.
const { construct, defineProperty, ownKeys, getOwnPropertyDescriptor } = Reflect;
const text = String;

// The handlers of all proxies have no prototype (__proto__: null): from
// Object.prototype a file could give them a trap of its own, which is told what
// lies behind the proxy.

// note tells the evaluator that the environment was read, and whose value that was,
// "" for none. It is a function of the evaluator's own, and only this file's.
const note = globalThis.__chant_note;
delete globalThis.__chant_note;

function noteValue(key) { note(typeof key === "string" ? key : ""); }

function refuse(message) {
  const e = new Error(message);
  e.name = "OpFileError";
  return e;
}

function environment(values, cwd) {
  const env = new Proxy(Object.assign(Object.create(null), values), {
    __proto__: null,
    // Values alone: a getter or setter that the file defined would be called with what lies behind the proxy.
    get(target, key) { noteValue(key); return getOwnPropertyDescriptor(target, key)?.value; },
    has(target, key) { note(""); return key in target; },
    getOwnPropertyDescriptor(target, key) { noteValue(key); return getOwnPropertyDescriptor(target, key); },
    ownKeys(target) { note(""); return ownKeys(target); },
    set(target, key, value) {
      return defineProperty(target, key, { __proto__: null, value: text(value), writable: true, enumerable: true, configurable: true });
    },
  });
  globalThis.process = {
    env,
    cwd() { note(""); return cwd; },
    exit() { throw refuse("it calls process.exit; an Op's file only says what to run"); },
    argv: [],
    versions: {},
  };
  const quiet = () => {};
  globalThis.console = { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet, trace: quiet, table: quiet };
}

function withoutClock() {
  const clock = () => { throw refuse("it reads the clock; an Op has to be the same whenever it is read. Let a step ask for the time when it runs"); };
  const RealDate = Date;
  const Fixed = new Proxy(RealDate, {
    __proto__: null,
    apply: clock,
    construct(target, args, newTarget) { return args.length === 0 ? clock() : construct(target, args, newTarget); },
  });
  RealDate.now = clock;
  RealDate.prototype.constructor = Fixed;
  globalThis.Date = Fixed;
  delete globalThis.performance;
  Math.random = () => { throw refuse("it asks for a random number; an Op has to be the same whenever it is read"); };
}
