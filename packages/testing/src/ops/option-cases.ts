import assert from 'node:assert/strict';
import { CollectiveHints, CommunicationOptions, ReduceOp, setLogSink, ValueError } from '@coll/core';
import { assertRejects } from './assert-rejects.js';
import { assertEverywhere } from './assert-value.js';
import { combinedElements, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { textOf } from './text-of.js';

/**
 * Tests that the options of a call are accepted in every form, and checked before the other
 * arguments.
 */
export const optionCases: OpsCases = {
  'accepts options in every form': takesOptions,
  'refuses wrong options': refusesOptions,
  'checks options, then the value, then destinations, then the op': checksInOrder,
};

const { SUM } = ReduceOp;

async function takesOptions(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  setLogSink(() => {});
  const value = valueOn(subject.devices(2));
  const expected = { dtype: 'float32', shape: [2, 3], elements: combinedElements(SUM, value.values) } as const;
  const options = new CommunicationOptions({ bytesPerPack: 8, timeoutSeconds: 5, implementation: 'ring' });
  const forms = [
    undefined,
    null,
    {},
    options,
    new CollectiveHints({ bytesPerPack: 8 }),
    { bytesPerPack: 8 },
    { timeoutSeconds: 0 },
    { timeoutSeconds: null },
    { options },
    { experimentalHints: options },
    { experimentalHints: new CollectiveHints({ timeoutSeconds: 5 }) },
    { bytesPerPack: 4, options, signal: new AbortController().signal },
  ];
  for (const form of forms) {
    const title = `with options ${textOf(form)}`;
    const reduced = await cross.reduce(SUM, value, value, form as undefined);
    assertEverywhere(`reduce ${title}`, reduced, value.devices, expected);
    const [batched] = await cross.batchReduce(SUM, [[value, value]], form as undefined);
    assertEverywhere(`batchReduce ${title}`, batched, value.devices, expected);
    await cross.gather(value, value, 0, form as undefined);
  }
  setLogSink();
}

const wrongOptions = () => {
  const options = new CommunicationOptions();
  return [
    7,
    'ring',
    { options, experimentalHints: options },
    { bytesPerPack: -1 },
    { bytesPerPack: Number.NaN },
    { implementation: 'mpi' },
    { options: 7 },
  ] as readonly unknown[] as readonly never[];
};

async function refusesOptions(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  for (const options of wrongOptions()) {
    const title = `with options ${textOf(options)}`;
    await assertRejects(`reduce ${title}`, cross.reduce(SUM, value, value, options), ValueError);
    await assertRejects(`batchReduce ${title}`, cross.batchReduce(SUM, [[value, value]], options), ValueError);
    await assertRejects(`gather ${title}`, cross.gather(value, value, 0, options), ValueError);
  }
}

async function checksInOrder(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const [noOptions] = wrongOptions() as readonly [never];
  const noValue = null as never;
  const noPlace = 7 as never;
  const noOp = 'nonsense' as ReduceOp;
  const isAbout = async (word: RegExp, promise: Promise<unknown>) => {
    const { message } = await assertRejects('several wrong arguments', promise, ValueError);
    assert.match(message, word, 'the first wrong argument is the one that the error is about');
  };
  await isAbout(/options/, cross.reduce(noOp, noValue, noPlace, noOptions));
  await isAbout(/value/, cross.reduce(noOp, noValue, noPlace));
  await isAbout(/destinations/, cross.reduce(noOp, value, noPlace));
  await isAbout(/nonsense/, cross.reduce(noOp, value, value));
  await isAbout(/options/, cross.batchReduce(noOp, [[noValue, noPlace]], noOptions));
  await isAbout(/value/, cross.batchReduce(noOp, [[noValue, noPlace]]));
  await isAbout(
    /destinations/,
    cross.batchReduce(noOp, [
      [value, value],
      [value, noPlace],
    ]),
  );
  await isAbout(/nonsense/, cross.batchReduce(noOp, [[value, value]]));
  await isAbout(/options/, cross.gather(noValue, noPlace, -1, noOptions));
  await isAbout(/value/, cross.gather(noValue, noPlace, -1));
  await isAbout(/destinations/, cross.gather(value, noPlace, -1));
}
