import { readFileSync } from 'node:fs';
import path from 'node:path';
import { IndexedSlices, openMembers, PerReplica, type Tensor, tensor, tensorSymbol } from '@coll/core';
import { DirectAllReduce, directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { Float16ArrayDouble } from '../../core/test/float16-array-double.js';
import { strategyOf } from '../test/strategies.js';
import { decode, encodeArguments } from './threads/thread-values.js';

const page = readFileSync(path.join(process.cwd(), 'docs/explanation/values.md'), 'utf8');
const [, section = ''] = /## Accepted values\n(.*?)\n## /s.exec(page) ?? [];
const [[, ...doors] = [], , ...rows] = section
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );

const array = () => Float32Array.of(1, 2);

function detached(): Float32Array {
  const data = array();
  structuredClone(data, { transfer: [data.buffer] });
  return data;
}

class TfTensor {
  readonly dataId = {};
  readonly dtype = 'float32';
  readonly shape = [2];
  readonly data = async () => array();
  readonly dataSync = array;
}

/** A value of each row, as one replica or member passes it. */
const values: Readonly<Record<string, () => unknown>> = {
  'typed array': array,
  '`Float16Array`': () => new Float16ArrayDouble(2),
  tensor: () => tensor(array()),
  'object with a tensor method': () => ({ [tensorSymbol]: array }),
  number: () => 7,
  'list of arrays or tensors': () => [array(), tensor(array())],
  'list of numbers': () => [1, 2],
  'plain object': () => ({ a: array() }),
  '`PerReplica`': () => new PerReplica([array(), array()]),
  '`IndexedSlices`': () => new IndexedSlices(array(), Int32Array.of(0, 1)),
  'promise of a tensor': () => Promise.resolve(array()),
  '`tf.Tensor` or `tf.Variable`': () => new TfTensor(),
  'array without memory': detached,
  string: () => 'one',
};

const two = strategyOf(2);

/** Passes a value through a door. */
const pass: Readonly<Record<string, (value: unknown) => Promise<unknown>>> = {
  'a member': (value) => {
    const members = openMembers({ size: 2, algorithm: directAlgorithm(), engine: 'js' });
    return Promise.all(members.map((member) => member.allReduce('sum', value as Tensor)));
  },
  'a replica': (value) =>
    two.run(async (replica) => {
      const result: unknown = await replica.allReduce('sum', value as Tensor);
      return result;
    }),
  'cross-device ops': (value) => new DirectAllReduce().reduce('SUM', value as Tensor, 'cpu:0'),
  'across a thread': async (value) => {
    const [encoded] = encodeArguments([[value]]);
    return decode(structuredClone(encoded?.value));
  },
};

describe('the table of accepted values', () => {
  it('has the rows and columns that this test knows', () => {
    expect(rows.map(([value]) => value)).toEqual(Object.keys(values));
    expect(doors).toEqual(Object.keys(pass));
  });

  const cells = rows.flatMap(([value = '', ...answers]) =>
    answers.map((answer, column) => [value, doors[column] as string, answer] as const),
  );

  it.each(cells)('%s, %s: %s', async (value, door, answer) => {
    const passed = async () => pass[door]?.(values[value]?.());
    if (answer.startsWith('yes')) {
      expect(await passed()).toBeDefined();
      return;
    }
    const error: unknown = await passed().catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      name: door === 'across a thread' && value !== 'array without memory' ? 'RuntimeError' : 'ValueError',
    });
    expect((error as Error).message).toMatch(/must|pass|send|use plain data/);
  });
});
