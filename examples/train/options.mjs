// The command line of the training example. `npm start` reads it before anything is installed: Node's own modules only.
import { parseArgs } from 'node:util';

/** Names for `--framework`. */
export const frameworks = ['jax-js', 'tfjs'];

/** Names for `--ops`: the plug-ins that main.ts registers, and `auto`. */
export const algorithms = ['direct', 'reduction-to-one', 'ring', 'auto'];

const badUsage = 2;

/** Each option: its default, what it does, and what it takes, which is nothing for a switch. */
const options = {
  framework: { value: 'jax-js', does: 'what trains', takes: oneOf(frameworks) },
  replicas: { value: 2, does: 'replicas of the model, each in a thread', takes: numberFrom(1) },
  ops: { value: 'direct', does: 'how gradients are combined', takes: oneOf(algorithms) },
  engine: { value: 'auto', does: 'what adds them up', takes: oneOf(['auto', 'native', 'wasm', 'js']) },
  epochs: { value: 6, does: 'passes over the training digits', takes: numberFrom(1) },
  'batch-size': { value: 1024, does: 'digits in one step, over all replicas', takes: numberFrom(1) },
  samples: { value: 8192, does: 'training digits', takes: numberFrom(1) },
  seed: { value: 1, does: 'decides digits and initial weights', takes: numberFrom(0) },
  json: { value: false, does: 'prints the results as one line of JSON' },
  insecure: { value: false, does: 'workers on different hosts send everything unencrypted' },
};

/** A command line that cannot be followed; the message says why. */
export class BadUsage extends Error {}

/**
 * Reads a command line, undefined if it asks for help.
 * @throws BadUsage
 */
export function settingsFrom(args) {
  const given = parsed(args);
  if (given.help) return undefined;
  const values = Object.entries(options).map(([name, { value, takes }]) => {
    const text = given[name];
    if (text === undefined || takes === undefined) return [camelCase(name), text ?? value];
    const read = takes.read(text);
    if (read === undefined) throw new BadUsage(`--${name} must be ${takes.description}, got ${JSON.stringify(text)}`);
    return [camelCase(name), read];
  });
  const settings = Object.fromEntries(values);
  const { replicas, batchSize, samples } = settings;
  if (batchSize % replicas !== 0) {
    throw new BadUsage(`--batch-size must be a multiple of the ${replicas} replicas, got ${batchSize}`);
  }
  if (samples < batchSize) throw new BadUsage(`--samples must be at least one batch of ${batchSize}, got ${samples}`);
  return settings;
}

/** The same for a program: prints help, or what is wrong, and ends it, with code 2 after a wrong command line. */
export function settingsOrExit(args) {
  try {
    const settings = settingsFrom(args);
    if (settings !== undefined) return settings;
    process.stdout.write(help());
    process.exit(0);
  } catch (error) {
    if (!(error instanceof BadUsage)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(badUsage);
  }
}

function parsed(args) {
  const known = Object.entries(options).map(([name, { takes }]) => [name, { type: takes ? 'string' : 'boolean' }]);
  const help = { type: 'boolean', short: 'h' };
  const { values, tokens } = parseArgs({
    args,
    options: { ...Object.fromEntries(known), help },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') throw new BadUsage(`${JSON.stringify(token.value)} is not an option; ${seeHelp}`);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    if (name !== 'help' && !Object.hasOwn(options, name)) throw new BadUsage(`unknown option ${rawName}; ${seeHelp}`);
    const takes = options[name]?.takes;
    if (takes !== undefined && value === undefined)
      throw new BadUsage(`${rawName} needs a value: ${takes.description}`);
    if (takes === undefined && value !== undefined) throw new BadUsage(`${rawName} takes no value`);
  }
  return values;
}

const seeHelp = '`npm start -- --help` lists them all';

function help() {
  const rows = Object.entries(options).map(([name, { value, does, takes }]) => {
    const suffix = takes ? ` (default: ${value})` : '';
    return [`--${name}${takes ? ` ${takes.placeholder}` : ''}`, `${does}${takes?.note ?? ''}${suffix}`];
  });
  rows.push(['-h, --help', 'this text']);
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}${right}\n`).join('');
  return `Usage: npm start -- [options]

Trains a model that reads digits on several threads of this machine.

Options:
${lines}`;
}

function numberFrom(least) {
  return {
    placeholder: '<n>',
    description: `a whole number of at least ${least}`,
    read(text) {
      const value = Number(text);
      return text.trim() !== '' && Number.isSafeInteger(value) && value >= least ? value : undefined;
    },
  };
}

function oneOf(names) {
  return {
    placeholder: '<name>',
    description: `one of ${names.join(', ')}`,
    note: `: ${names.join(', ')}`,
    read: (text) => (names.includes(text) ? text : undefined),
  };
}

const camelCase = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
