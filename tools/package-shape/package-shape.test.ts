import { beforeAll, describe, expect, it } from 'vitest';
import { diagnose, toJavaScript } from './diagnose.ts';
import { readmeProgram, UserProject } from './user-project.ts';

const reduceInCommonJs = `
const { PerReplica, ReduceOp, tensor } = require('@coll/core');
const { RingAllReduce } = require('@coll/ring');

const value = new PerReplica([
  tensor(new Float32Array([1, 2]), { device: 'cpu:0' }),
  tensor(new Float32Array([3, 4]), { device: 'cpu:1' }),
]);
new RingAllReduce().reduce(ReduceOp.SUM, value, value).then((sum) => {
  console.log(sum.values.map(({ data }) => data.join(' ')).join(' | '));
});
`;

const everythingOfCore = `
export * from '@coll/core';
export * as schedule from '@coll/core/schedule';
`;

describe('the packages as published', { timeout: 60_000 }, () => {
  let project: UserProject;
  beforeAll(() => {
    project = new UserProject(['core', 'reduction-to-one', 'ring', 'strategy']);
    return () => project.remove();
  }, 300_000);

  it('run the first program of the README', () => {
    project.write('first.mjs', toJavaScript(readmeProgram()));
    expect(project.run('first.mjs')).not.toBe('');
  });

  it('type-check it under the strictest settings', () => {
    expect(diagnose(project.write('first.mts', readmeProgram()), { types: ['node'] })).toEqual([]);
  });

  it('can be required from CommonJS', () => {
    project.write('reduce.cjs', reduceInCommonJs);
    expect(project.run('reduce.cjs')).toBe('4 6 | 4 6\n');
  });

  it("need none of Node's types for core", () => {
    const file = project.write('browser.mts', everythingOfCore);
    const lib = ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'];
    expect(diagnose(file, { types: [], lib })).toEqual([]);
  });
});
