/** A kind of project that `npm create coll` makes. */
export interface Kind {
  /** What the project does, for a list of the kinds. */
  readonly title: string;
  /** The programs: their names in the project, and the examples of the repository that they are copies of. */
  readonly programs: Readonly<Record<string, string>>;
  /** The packages of coll that the programs import. */
  readonly packages: readonly string[];
  /** Other packages, with their versions. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** The scripts of the project, each with what it does. */
  readonly scripts: Readonly<Record<string, readonly [command: string, effect: string]>>;
  /** The page of the documentation that explains the programs. */
  readonly page: string;
}

const trainingScripts = {
  start: ['tsx main.ts', 'trains in two threads'],
  'start:processes': ['coll run -n 2 main.ts', 'trains in two processes with two threads each'],
} as const;

export const kinds: Readonly<Record<string, Kind>> = {
  tfjs: {
    title: 'a TensorFlow.js script that trains on all cores',
    programs: programsIn('tfjs', ['main', 'replica', 'data']),
    packages: ['cli', 'core', 'direct', 'strategy', 'tfjs'],
    dependencies: { '@tensorflow/tfjs': '^4.22.0', '@tensorflow/tfjs-backend-wasm': '^4.22.0' },
    scripts: trainingScripts,
    page: 'docs/start/tfjs.md',
  },
  'jax-js': {
    title: 'a jax-js script that trains on all cores',
    programs: programsIn('jax-js', ['main', 'replica', 'data', 'model', 'optimizers']),
    packages: ['cli', 'core', 'direct', 'jax-js', 'strategy'],
    dependencies: { '@jax-js/jax': '^0.1.25' },
    scripts: trainingScripts,
    page: 'docs/start/jax-js.md',
  },
  'plug-in': {
    title: 'an all-reduce algorithm of your own, with its proof and tests',
    programs: {
      'main.ts': 'write-an-algorithm/main.ts',
      'replica.ts': 'write-an-algorithm/replica.ts',
      'tree.ts': 'write-an-algorithm/tree.ts',
      'tree.test.ts': 'write-an-algorithm/tree-suites.ts',
    },
    packages: ['core', 'reduction-to-one', 'strategy', 'testing'],
    dependencies: {},
    scripts: {
      start: ['tsx main.ts', 'proves, draws and uses the algorithm'],
      test: ['tsx --test tree.test.ts', 'runs the conformance suites'],
    },
    page: 'docs/start/plugin-author.md',
  },
  processes: {
    title: 'several processes that reduce typed arrays',
    programs: { 'main.ts': 'processes.ts' },
    packages: ['cli', 'core', 'processes'],
    dependencies: {},
    scripts: { start: ['coll run -n 3 main.ts', 'adds arrays of three processes'] },
    page: 'docs/start/typed-arrays.md',
  },
};

/** These programs of a folder of examples, under the same names. */
function programsIn(folder: string, names: readonly string[]): Kind['programs'] {
  return Object.fromEntries(names.map((name) => [`${name}.ts`, `${folder}/${name}.ts`]));
}
