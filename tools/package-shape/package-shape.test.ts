import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { diagnose, toJavaScript } from './diagnose.ts';
import { declarationsOf, hasBinary, publishedPackages, readmeProgram, UserProject } from './user-project.ts';

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

const inferredExports = `
import { MirroredStrategy } from '@coll/strategy';
import { ringAlgorithm } from '@coll/ring';
import { verify } from '@coll/core/schedule';
import { tensor } from '@coll/core';

export const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
export const means = strategy.run((replica) => replica.allReduce('mean', new Float32Array([1])));
export const both = strategy.run((replica) => ({ id: replica.replicaIdInSyncGroup, value: tensor([1, 2]) }));
export const options = strategy.extended;
export const ring = ringAlgorithm;
export const check = verify;
`;

const everythingOfCore = `
export * from '@coll/core';
export * as internal from '@coll/core/internal';
export * as plugin from '@coll/core/plugin';
export * as schedule from '@coll/core/schedule';
`;

const misnamedClasses = `
for (const name of ['core', 'multi-worker', 'rendezvous', 'strategy']) {
  for (const value of Object.values(await import('@coll/' + name))) {
    if (typeof value === 'function' && value.name.startsWith('_')) console.log(value.name);
  }
}
`;

const probeOfNative = `
import { native } from '@coll/native';

const { available, reason } = native.probe();
console.log(available ? 'available' : reason);
`;

const probeOfNccl = `
import '@coll/nccl/register';
import { probe } from '@coll/nccl';

const { available, reason } = probe();
console.log(available ? 'available' : reason);
`;

const probeOfMpi = `
import '@coll/mpi/register';
import { probe } from '@coll/mpi';

const { available, reason } = probe();
console.log(available ? 'available' : reason);
`;

const withoutNode: ts.CompilerOptions = {
  types: [],
  // The declarations of jax-js name Float16Array.
  lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts', 'lib.es2025.float16.d.ts', 'lib.dom.d.ts'],
};

describe('the packages as published', () => {
  let project: UserProject;
  beforeAll(() => {
    const ofStrategy = ['direct', 'multi-worker', 'native', 'processes', 'reduction-to-one', 'rendezvous', 'ring'];
    project = new UserProject(['core', 'strategy', ...ofStrategy]);
    return () => project.remove();
  });

  it('run the first program of the README', () => {
    project.write('first.mjs', toJavaScript(readmeProgram()));
    expect(project.run('first.mjs')).not.toBe('');
  });

  it('let the first program of the README type-check with the strictest settings', () => {
    expect(diagnose(project.write('first.mts', readmeProgram()), { types: ['node'] })).toEqual([]);
  });

  it('let a bundled program emit declarations for all inferred types', () => {
    const file = project.write('inferred.ts', inferredExports);
    const bundler = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
    expect(diagnose(file, { types: ['node'], declaration: true, ...bundler })).toEqual([]);
  });

  it('can be required from CommonJS', () => {
    project.write('reduce.cjs', reduceInCommonJs);
    expect(project.run('reduce.cjs')).toBe('4 6 | 4 6\n');
  });

  it('give classes the same name at run time as in their exports', () => {
    project.write('names.mjs', misnamedClasses);
    expect(project.run('names.mjs')).toBe('');
  });

  it('let a program that uses @coll/core type-check without Node types', () => {
    expect(diagnose(project.write('browser.mts', everythingOfCore), withoutNode)).toEqual([]);
  });

  it('contain their licence', () => {
    expect(project.without('LICENSE')).toEqual([]);
  });

  it('report where they looked for the native engine', () => {
    project.write('probe.mjs', probeOfNative);
    expect(project.run('probe.mjs')).toMatch(/@coll\/native-[a-z0-9-]+ \(not installed: npm install /);
  });
});

it.each(publishedPackages())('the declarations of %s need no Node types', (name) => {
  expect(declarationsOf(name).flatMap((file) => diagnose(file, withoutNode))).toEqual([]);
});

describe.runIf(hasBinary('native'))('the native engine as published', () => {
  let project: UserProject;
  beforeAll(() => {
    project = new UserProject(['core', 'native'], { binary: true });
    return () => project.remove();
  });

  it('is found in the package for this platform', () => {
    project.write('probe.mjs', probeOfNative);
    expect(project.run('probe.mjs')).toBe('available\n');
  });

  it('contains its licence', () => {
    expect(project.without('LICENSE')).toEqual([]);
  });

  it('needs no install script and no other package', () => {
    expect(project.installed()).toEqual({
      folders: [
        'node_modules/@coll/core',
        'node_modules/@coll/native',
        expect.stringMatching(/^node_modules\/@coll\/native-[a-z0-9-]+$/),
      ],
      ranScripts: false,
    });
  });
});

describe.runIf(process.platform === 'linux').each([
  {
    name: 'nccl',
    needs: ['core', 'native', 'reduction-to-one', 'rendezvous'],
    probe: probeOfNccl,
    // The CUDA libraries, which the package finds itself.
    found: /^(available|.*(NVIDIA driver|NCCL).*)\n$/,
  },
  {
    name: 'mpi',
    needs: ['core', 'direct', 'multi-worker', 'native', 'reduction-to-one', 'rendezvous', 'ring'],
    probe: probeOfMpi,
    found: /^(available|.*libmpi.*)\n$/,
  },
])('$name as published', ({ name, needs, probe, found }) => {
  const test = it.runIf(hasBinary(name));
  let project: UserProject;
  beforeAll(() => {
    if (!hasBinary(name)) return;
    project = new UserProject([...needs, name], { binary: true });
    return () => project.remove();
  });

  test('is found in the package for this platform, and finds the libraries of the machine itself', () => {
    project.write('probe.mjs', probe);
    expect(project.run('probe.mjs')).toMatch(found);
  });

  test('contains its licence', () => {
    expect(project.without('LICENSE')).toEqual([]);
  });

  test('needs no install script and no package of others', () => {
    const { folders, ranScripts } = project.installed();
    expect(ranScripts).toBe(false);
    const own = [...needs, name].map((needed) => `node_modules/@coll/${needed}`);
    const binaryOf = (needed: string) =>
      expect.stringMatching(new RegExp(`^node_modules/@coll/${needed}-linux-[a-z0-9-]+$`)) as string;
    expect(folders.filter((folder) => !own.includes(folder))).toEqual(['native', name].sort().map(binaryOf));
  });
});
