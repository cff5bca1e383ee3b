import assert from 'node:assert/strict';
import { type Collective, type CollectiveKind, dtypes } from '@coll/core';
import { ReferenceCommunicator } from '@coll/core/internal';
import { isFloating } from '@coll/core/plugin';
import { specialLength } from '../oracle/contributions.js';
import { moves, ops, reductions, rooted, unrooted } from './collectives.js';
import { caseFor, type ExecutorCases, type Setting } from './executor-case.js';
import { expectFrom, type Subject } from './subject.js';
import type { Trial } from './trial.js';

/** Tests that results are correct for every root and for lengths for which schedules differ. */
export const scheduleCases: ExecutorCases = {
  'supports every root': caseFor(hasAny('reduce', 'broadcast', 'gather', 'scatter'), servesEveryRoot),
  'supports every length': servesEveryLength,
  'processes long buffers': executesLongBuffers,
};

/** Tests that results are correct to the bit for every dtype and op. */
export const dtypeCases: ExecutorCases = {
  'reduces every dtype with every op': combinesEveryDType,
  'moves every dtype': caseFor(hasAny('broadcast', 'all-gather', 'gather', 'scatter', 'all-to-all'), movesEveryDType),
  'keeps NaN, infinities, -0 and wraps integers around': keepsSpecialValues,
  'refuses the mean of bool': hasNoMeanOfBool,
};

/** Tests that results have the same bits as those of another executor of the same algorithm. */
export const referenceCases: ExecutorCases = { 'returns the bits of the reference': givesBitsOfReference };

function hasAny(...kinds: readonly CollectiveKind[]) {
  return (setting: Setting): boolean => kinds.some((kind) => setting.kinds.includes(kind));
}

async function combinesEveryDType(subject: Subject): Promise<void> {
  const everywhere = ops.flatMap((op): Collective[] => [
    { kind: 'all-reduce', op },
    { kind: 'reduce-scatter', op },
  ]);
  const atRoot = (['sum', 'mean'] as const).map((op): Collective => ({ kind: 'reduce', op, root: subject.size - 1 }));
  await subject.check(trialsOf(subject.among([...everywhere, ...atRoot]), dtypes, subject.size + 2));
}

async function movesEveryDType(subject: Subject): Promise<void> {
  const collectives = subject.among(moves(subject.roots()));
  await subject.check(trialsOf(collectives, dtypes, 2 * subject.size - 1));
}

async function servesEveryRoot(subject: Subject): Promise<void> {
  const roots = Array.from({ length: subject.size }, (_, root) => root);
  await subject.check(trialsOf(subject.among(rooted(roots)), ['float32'], 5));
}

async function servesEveryLength(subject: Subject): Promise<void> {
  const { size } = subject;
  const collectives = subject.among([...unrooted, ...rooted(subject.roots())]);
  const lengths = subject.hasManyRanks ? [0, 3] : new Set([0, 1, 2, 7, size - 1, size, size + 1, 1009]);
  await subject.check([...lengths].flatMap((block) => trialsOf(collectives, ['float32'], block)));
}

// Lengths that exceed the blocks in which executors process a buffer, and are not multiples of
// their size. Shorter for many ranks, which divide a buffer between them anyway.
async function executesLongBuffers(subject: Subject): Promise<void> {
  const [root, length] = [subject.size - 1, subject.size <= 4 ? 20_011 : 5000];
  const mean = subject.among([{ kind: 'all-reduce', op: 'mean' }]);
  await subject.check([
    ...trialsOf(subject.among([{ kind: 'all-reduce', op: 'sum' }]), ['float32'], length),
    ...trialsOf(mean, ['bfloat16', 'int32'], 5000),
    ...trialsOf(subject.among([{ kind: 'reduce', op: 'product', root }]), ['uint8'], 5000),
    ...trialsOf(subject.among([{ kind: 'broadcast', root }]), ['float16'], 5000),
    ...trialsOf(subject.among([...unrooted, ...rooted([root])]), ['float32'], Math.ceil(10_007 / subject.size)),
  ]);
}

async function keepsSpecialValues(subject: Subject): Promise<void> {
  const special = (trial: Trial): Trial => ({ ...trial, flavour: 'special' });
  const everywhere = subject.among(ops.map((op) => ({ kind: 'all-reduce', op })));
  const elsewhere = subject.among([...reductions(['sum', 'min', 'mean'], [0]), ...moves([subject.size - 1])]);
  await subject.check([
    ...trialsOf(everywhere, dtypes, specialLength).map(special),
    ...trialsOf(elsewhere, dtypes.filter(isFloating), specialLength).map(special),
  ]);
}

async function hasNoMeanOfBool(subject: Subject): Promise<void> {
  for (const collective of subject.among(reductions(['mean'], [0]))) {
    const refusal = await subject.refusal(collective, 'bool');
    assert.ok(refusal !== undefined && refusal !== '', `${collective.kind}: refuses() must say that bool has no mean`);
  }
}

async function givesBitsOfReference(subject: Subject): Promise<void> {
  const { algorithm, size } = subject;
  if (!algorithm) return;
  await using reference = new ReferenceCommunicator({ size, algorithm: algorithm.algorithm });
  const variants = Array.from({ length: algorithm.algorithm.variants?.(size) ?? 1 }, (_, variant) => variant);
  // With many ranks one op is enough: all ops follow the same order.
  const someOps = subject.hasManyRanks ? (['sum'] as const) : (['sum', 'mean', 'product'] as const);
  const collectives = subject.among([
    ...reductions(someOps, subject.hasManyRanks ? subject.roots() : [0]),
    ...variants.slice(1).map((variant): Collective => ({ kind: 'all-reduce', op: 'sum', variant })),
  ]);
  const trials = trialsOf(collectives, dtypes.filter(isFloating), subject.hasManyRanks ? 5 : 61);
  await subject.check(trials, undefined, expectFrom(reference));
}

function trialsOf(collectives: readonly Collective[], someDTypes: readonly Trial['dtype'][], block: number): Trial[] {
  return collectives.flatMap((collective) => someDTypes.map((dtype) => ({ collective, dtype, block })));
}
