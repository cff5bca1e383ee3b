import { bytesPerElement } from '../sizes.js';
import type { CallMemory, Form, FreshVenueName, Piece, Session, Trial, Turn, Work } from '../trial.js';
import type { Selection } from './selection.js';
import { nameOf, trialOf, yardsticks } from './variants.js';
import { wordsFor } from './ways-to-call.js';

const suite = 'cold';

/** The counts of calls whose mean is measured. */
export const firstCalls = [100, 2000, 10_000] as const;

/** A call, and how it is made. */
interface ColdCall {
  readonly name: string;
  readonly venue: FreshVenueName;
  readonly form: Form;
  readonly works: readonly Work[];
  readonly transport?: 'shared-memory';
}

const memories: readonly CallMemory[] = ['known', 'new'];

const calls: readonly ColdCall[] = [
  { name: 'threads', venue: 'fresh-replica-threads', form: 'sync', works: worksOf('context') },
  {
    ...{ name: 'processes', venue: 'fresh-rank-processes', form: 'sync', works: worksOf('context') },
    transport: 'shared-memory',
  },
  { name: 'one thread', venue: 'fresh-main-thread', form: 'controller', works: worksOf('context') },
  { name: 'reduce', venue: 'fresh-main-thread', form: 'controller', works: worksOf('reduce') },
  { name: 'run of a module', venue: 'fresh-main-thread', form: 'async', works: [{ type: 'run' }] },
  { name: 'run of a function', venue: 'fresh-main-thread', form: 'controller', works: [{ type: 'run' }] },
];

/** The first calls of a process, most of which V8 has not compiled: a program that trains for a thousand steps makes no others. */
export function cold(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? (selection.isQuick ? [bytesPerElement] : [bytesPerElement, 65_536]);
  return [{ label: suite, ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) }];
}

/** The name of the mean of the first calls of a process. */
export function coldName(call: string, first: number): string {
  return `${call}, first ${first} calls`;
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  const [engine, algorithm] = [selection.engines[0], selection.algorithms[0]];
  if (engine === undefined || algorithm === undefined) return [];
  const common = { suite, ranks, counts: [bytes / bytesPerElement] } as const;
  const { forms } = selection;
  const turns = calls
    .filter(({ form }) => forms?.includes(form) ?? true)
    .flatMap(({ works, venue, name, form, transport }) =>
      (selection.isQuick ? works.slice(-1) : works).map((work): Turn => {
        const words = 'memory' in work && work.memory ? wordsFor(work.memory, 'in') : '';
        const own = { ...common, work, engine, algorithm, form, ...(transport && { transport }) };
        return { venue, trials: trialsOf(`${name}${words}`, own, selection) };
      }),
    );
  return [...yardsticks(suite, ranks, bytes, { hasBound: false }), ...turns, ...peerTurns(selection, common)];
}

function trialsOf(call: string, start: Omit<Trial, 'name' | 'input' | 'place'>, { isQuick }: Selection): Trial[] {
  return (isQuick ? firstCalls.slice(0, 2) : firstCalls).map((first) =>
    trialOf({ ...start, name: coldName(call, first), first }),
  );
}

function peerTurns(selection: Selection, common: Pick<Trial, 'suite' | 'ranks' | 'counts'>): Turn[] {
  if (!selection.peers.includes('mpi4py')) return [];
  const work = { type: 'collective', kind: 'all-reduce' } as const;
  const start = { ...common, work, engine: 'peer', peer: 'mpi4py' } as const;
  return [{ venue: 'fresh-mpi4py', trials: trialsOf(nameOf('mpi4py', 'still', 'in'), start, selection) }];
}

function worksOf(type: 'context' | 'reduce'): Work[] {
  return memories.map((memory) => ({ type, memory }));
}
