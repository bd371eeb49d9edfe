// What an Op's file finds around it: process.env and process.cwd(), and no clock,
// no chance and nothing else of Node. An Op is to be the same whenever it is
// read, or a run could not be resumed.

const inertNames = []; // names that became something else than themselves

// What is used after the file has run its first line is taken before: the file
// can put something else in its place.
const { ownKeys, getOwnPropertyDescriptor } = Reflect;
const text = String;

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
    get(target, key) { noteValue(key); return target[key]; },
    has(target, key) { note(""); return key in target; },
    getOwnPropertyDescriptor(target, key) { noteValue(key); return getOwnPropertyDescriptor(target, key); },
    ownKeys(target) { note(""); return ownKeys(target); },
    set(target, key, value) { target[key] = text(value); return true; },
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
    apply: clock,
    construct(target, args, newTarget) { return args.length === 0 ? clock() : Reflect.construct(target, args, newTarget); },
  });
  RealDate.now = clock;
  RealDate.prototype.constructor = Fixed;
  globalThis.Date = Fixed;
  delete globalThis.performance;
  Math.random = () => { throw refuse("it asks for a random number; an Op has to be the same whenever it is read"); };
}
