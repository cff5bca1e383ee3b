// Imports point down only. For each package: what its sources may import of ours. Tests may import anything public.
// A bare name is a folder of packages/.
const plugin = ['core', 'reduction-to-one'];
const mayImport = {
  core: [],
  testing: ['core'],
  'native/engine': ['core'],
  'reduction-to-one': ['core'],
  direct: plugin,
  ring: plugin,
  'hierarchical-copy': plugin,
  'multi-worker': [...plugin, 'direct', 'ring'],
  'native/nccl': [...plugin, 'rendezvous', 'native/engine'],
  'native/mpi': ['core', 'direct', 'multi-worker', 'rendezvous', 'native/engine'],
  rendezvous: ['core'],
  processes: ['core', 'direct', 'rendezvous', 'native/engine'],
  strategy: ['core', 'reduction-to-one', 'native/engine', 'direct', 'multi-worker', 'rendezvous', 'processes'],
  tfjs: ['core', 'strategy'],
  'jax-js': ['core', 'strategy'],
  opentelemetry: ['core'],
  cli: ['core', 'native/engine', 'rendezvous', 'strategy'],
  'create-coll': [],
};
// Test doubles, helpers of programs that sanitizers watch, what starts processes, and how a strategy opens its group, into which faults are injected,
// and what workers do on any group of processes.
const sharedByTests = [
  'native/engine/test/ranks/(errors|this-process)',
  'native/nccl/test/doubles',
  'packages/core/test/float16-array-double',
  'packages/rendezvous/test/free-port',
  'packages/rendezvous/test/job-processes',
  'packages/rendezvous/test/pmi-server-double',
  'packages/rendezvous/test/silent-store',
  'packages/cli/test/(launcher|stalled-run)',
  'packages/multi-worker/test/(worker|failing)-scenarios',
  'packages/strategy/src/workers/open-worker-group',
  'packages/strategy/test/memory-folder',
  'packages/strategy/test/browsers',
  'packages/strategy/test/page-server',
  'packages/strategy/test/together',
  'packages/strategy/test/workers-here',
];
// The rooms of a package, from the top floor down. Imports point down only. Files beside the rooms that are not listed are
// on top of all.
const roomsFromTop = {
  core: [
    'testing',
    'hierarchical',
    'plugins',
    'ops',
    'replicas',
    'compat',
    'packing',
    'sparse',
    'engines',
    'wasm',
    'js',
    'threads',
    'members',
    'messages',
    'runtime',
    'record',
    'kernels',
    'schedule',
    'collectives',
    'values',
    'support',
  ],
  strategy: [
    'workers',
    'strategies',
    'threads',
    'distributed-variables',
    'replicas',
    'training',
    'scope',
    'choice',
    'variables',
    'data',
    'cluster',
    'host.ts',
    'page',
    'node',
    'checkpoints',
  ],
};
const tests = '\\.test(-d)?\\.ts$';
const folderOf = (name) => (name.includes('/') ? name : `packages/${name}`);
const anyOf = (names) => `(${names.map(folderOf).join('|')})`;

const layers = Object.entries(mayImport).map(([name, below]) => ({
  name: `layer-${name}`,
  comment: `${folderOf(name)} may import ${below.join(', ') || 'nothing of ours'}`,
  severity: 'error',
  from: { path: `^${folderOf(name)}/src/`, pathNot: tests },
  to: { path: '^(packages|native|tools|examples)/', pathNot: `^${anyOf([name, ...below])}/` },
}));

const rooms = Object.entries(roomsFromTop).flatMap(([name, names]) => {
  const src = `^${folderOf(name)}/src/`;
  return [
    ...names.map((room, floor) => ({
      name: `room-${name}-${room}`,
      comment: `${folderOf(name)}/src/${room} may import ${names.slice(floor + 1).join(', ') || 'no other room'}`,
      severity: 'error',
      from: { path: `${src}${room}(/|$)`, pathNot: tests },
      to: { path: src, pathNot: `${src}(${names.slice(floor).join('|')})(/|$)` },
    })),
    {
      name: `room-${name}-unknown`,
      comment: 'a new room gets a floor in roomsFromTop, in .dependency-cruiser.cjs',
      severity: 'error',
      from: { path: `${src}[^/]+/`, pathNot: `${src}(${names.join('|')})/` },
      to: {},
    },
  ];
});

module.exports = {
  forbidden: [
    ...layers,
    ...rooms,
    {
      name: 'layer-unknown',
      comment: 'a new package gets a line in .dependency-cruiser.cjs that says what it may import',
      severity: 'error',
      from: { path: '^(packages|native)/', pathNot: `^${anyOf(Object.keys(mayImport))}/` },
      to: {},
    },
    {
      name: 'no-deep-import',
      comment: 'import another package by its name, as a user would',
      severity: 'error',
      // Tests of all packages together, and programs of users, are in no package, whose manifest would say that their imports go by name.
      from: { path: '^((?:packages|native|tools)/[^/]+|examples)/', pathNot: '^tools/(tests|(doors|pages)/fixtures)/' },
      // Native packages are built by the same tools. `npm start` reads the options of the example.
      to: {
        path: '^(packages|native|examples)/',
        pathNot: [
          '^($1|native/engine/tools)/',
          '^examples/train/options[.]mjs$',
          `^(${sharedByTests.join('|')})[.](ts|mjs)$`,
        ],
        dependencyTypes: ['local'],
      },
    },
    {
      name: 'no-internal-in-examples',
      comment: 'the entry `internal` of a package is for the packages of this repository; a user has its other entries',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^(packages|native)/[^/]+/src/internal(-node)?[.]ts$' },
    },
    {
      name: 'no-circular',
      comment: 'modules that need each other, be it for types only',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'node-in-one-room',
      comment:
        'modules of Node.js are imported in src/node of packages/strategy, packages/tfjs and packages/jax-js only, so that everything else runs in pages',
      severity: 'error',
      from: {
        path: '^packages/(core|strategy|tfjs|jax-js)/src/',
        pathNot: ['^packages/(strategy|tfjs|jax-js)/src/node/', tests],
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'files-in-an-entry-of-their-own',
      comment: 'the entries @coll/tfjs and @coll/jax-js run in pages, so they may not import those for Node.js',
      severity: 'error',
      from: { path: '^packages/(tfjs|jax-js)/src/(?!node/)', pathNot: tests },
      to: { path: '^packages/(tfjs|jax-js)/src/node/' },
    },
    {
      name: 'pages-without-node',
      comment: 'packages/strategy/src/page is the host for pages, which has nothing of Node.js but types',
      severity: 'error',
      from: { path: '^packages/strategy/src/page/', pathNot: tests },
      to: {
        path: ['^packages/strategy/src/node/', '^native/', '^packages/rendezvous/'],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'native-in-one-place',
      comment: 'what only some hosts have comes from packages/strategy/src/host.ts',
      severity: 'error',
      from: { path: '^packages/strategy/src/', pathNot: ['^packages/strategy/src/host[.]ts$', tests] },
      to: { path: '^native/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-unresolvable',
      comment: 'the module is not there, or the package does not export it',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|types|out-tsc|build|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@coll/source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
