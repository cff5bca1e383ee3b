import { randomUUID } from 'node:crypto';
import { outcomeOf, refusalOf } from './outcome.ts';
import type { Ended } from './run-program.ts';
import type { Outcome } from './table.ts';

/** A runtime, and a project in which the packages and the programs are. */
export interface Project {
  readonly folder: string;
  /** Runs a program of the project. */
  run(...program: readonly string[]): Promise<Ended>;
  /** Like `run`, but the program may only do what replicas in worker threads need. Undefined if the runtime cannot restrict programs. */
  readonly runRestricted: ((...program: readonly string[]) => Promise<Ended>) | undefined;
}

/** What a program does, and whether it can do so in a runtime. */
export interface Feature {
  readonly row: string;
  readonly check: (project: Project) => Promise<Outcome>;
}

const program =
  (...args: readonly string[]) =>
  async (project: Project) =>
    outcomeOf(await project.run(...args));

const launcher = ['node_modules/.bin/coll', 'run', '-n', '2'];
const twoRanks =
  (...args: readonly string[]) =>
  async (project: Project) =>
    outcomeOf(await project.run(...launcher, ...args), 2);

/** Two processes that meet through a file store. `code`: the exit code with which the second one must end. */
const meeting =
  (task: string, code = 0) =>
  async (project: Project): Promise<Outcome> => {
    const store = `${project.folder}/store-${randomUUID()}`;
    const [first, second] = (await Promise.all(
      ['0', '1'].map((rank) => project.run('file-store.mjs', rank, store, task)),
    )) as [Ended, Ended];
    return worst([outcomeOf(first), outcomeOf({ ...second, code: second.code === code ? 0 : 1 })]);
  };

async function typescript(project: Project): Promise<Outcome> {
  return worst([outcomeOf(await project.run('typescript.mjs')), outcomeOf(await project.run('typescript.ts'))]);
}

async function restricted(project: Project): Promise<Outcome> {
  if (!project.runRestricted) return { result: 'impossible', note: 'The runtime has no permission model.' };
  return outcomeOf(await project.runRestricted('threads.mjs', 'native'));
}

/** The process must end with a code, and print a text to stderr. */
const fails =
  (code: number, text: RegExp, ...args: readonly string[]) =>
  async (project: Project): Promise<Outcome> => {
    const ended = await project.run(...args);
    if (ended.code === code && text.test(ended.stderr)) return { result: 'ok' };
    return (
      refusalOf(ended) ?? { result: 'failed', note: `ended with ${ended.code}, not ${code}: ${ended.stderr.trim()}` }
    );
  };

function worst(outcomes: readonly Outcome[]): Outcome {
  return outcomes.find(({ result }) => result !== 'ok') ?? { result: 'ok' };
}

export const features: readonly Feature[] = [
  { row: 'replicas in one thread', check: program('one-thread.mjs') },
  { row: 'replicas in worker threads, native engine', check: program('threads.mjs', 'native') },
  { row: 'replicas in worker threads, WebAssembly engine', check: program('threads.mjs', 'wasm') },
  { row: 'TypeScript without tsx', check: typescript },
  { row: '`require` from CommonJS', check: program('require.cjs') },
  { row: 'a plug-in of your own', check: program('plug-in.mjs') },
  { row: 'sub-groups and messages between threads', check: program('thread-group.mjs') },
  { row: 'time limits and abort signals', check: program('limits.mjs') },
  { row: 'an uncaught error ends with exit code 1', check: fails(1, /replica 1: no such sample/, 'failing.mjs') },
  { row: 'TCP store', check: program('tcp-store.mjs') },
  { row: '`coll run`, shared memory', check: twoRanks('rank.mjs', 'shared-memory') },
  { row: '`coll run`, TCP', check: twoRanks('rank.mjs', 'tcp') },
  { row: '`coll run`, sub-groups and messages', check: twoRanks('rank.mjs', 'messages') },
  { row: '`coll run`, strategy with two threads per process', check: twoRanks('workers.mjs') },
  {
    row: '`coll run` ends with the exit code of a failed rank',
    check: fails(7, /rank 1 exited with code 7/, ...launcher, 'lost-rank.mjs'),
  },
  { row: 'file store, shared memory', check: meeting('shared-memory') },
  { row: 'file store, TCP', check: meeting('tcp') },
  { row: 'file store, sub-groups and messages', check: meeting('messages') },
  { row: 'file store, a lost process fails the others', check: meeting('lost', 7) },
  { row: 'permission model: only what threads need', check: restricted },
  { row: 'training with jax-js', check: program('jax-js.mjs') },
  { row: 'training with TensorFlow.js', check: program('tfjs.mjs') },
];
