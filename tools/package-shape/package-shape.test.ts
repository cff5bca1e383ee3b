import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { diagnose, toJavaScript } from './diagnose.ts';
import { hasNativeBinary, readmeProgram, UserProject } from './user-project.ts';

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
export * as executor from '@coll/core/executor';
export * as schedule from '@coll/core/schedule';
`;

const probeOfNative = `
import { native } from '@coll/native';

const { available, reason } = native.probe();
console.log(available ? 'available' : reason);
`;

describe('the packages as published', { timeout: 60_000 }, () => {
  let project: UserProject;
  beforeAll(() => {
    project = new UserProject(['core', 'reduction-to-one', 'native', 'ring', 'strategy']);
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
  it('say where they have looked for the native engine', () => {
    project.write('probe.mjs', probeOfNative);
    expect(project.run('probe.mjs')).toMatch(/@coll\/native-[a-z0-9-]+ \(not installed: npm install /);
  });
});

describe.runIf(hasNativeBinary)('the native engine as published', { timeout: 60_000 }, () => {
  let project: UserProject;
  beforeAll(() => {
    project = new UserProject(['core', 'native'], { binary: true });
    return () => project.remove();
  }, 300_000);

  it('is found in the package for this platform', () => {
    project.write('probe.mjs', probeOfNative);
    expect(project.run('probe.mjs')).toBe('available\n');
  });

  it('needs no install script and no other package', () => {
    const lock: { packages: Record<string, { hasInstallScript?: boolean }> } = JSON.parse(
      readFileSync(path.join(project.folder, 'package-lock.json'), 'utf8'),
    );
    const installed = Object.entries(lock.packages).filter(([folder]) => folder !== '');
    expect(installed.map(([folder]) => folder)).toEqual([
      'node_modules/@coll/core',
      'node_modules/@coll/native',
      expect.stringMatching(/^node_modules\/@coll\/native-[a-z0-9-]+$/),
    ]);
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });
});
