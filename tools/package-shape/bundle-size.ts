import { gzipSync } from 'node:zlib';
import { type BuildOptions, build, type Metafile } from 'esbuild';

/** A minified bundle of a program. */
export interface Bundle {
  readonly code: string;
  readonly bytes: number;
  /** Bytes after compression. */
  readonly gzip: number;
  /** The files that it contains, relative to the folder of the program. */
  readonly files: readonly string[];
}

const allReduceBy = (engine: string) => `
import { ${engine}, tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';

const communicator = ${engine}.communicator(2, directAlgorithm());
const buffers = [tensor(new Float32Array([1, 2])), tensor(new Float32Array([3, 4]))];
await communicator.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
console.log(buffers[0].data.join(' '));
`;

const strategyOnly = `
import { MirroredStrategy } from '@coll/strategy';

await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
await strategy.run(new URL('./replica.js', import.meta.url));
`;

/** The programs of a page with replicas in workers, whose sizes for browsers have a budget. */
export const pagePrograms = {
  page: strategyOnly,
  replica: "import '@coll/strategy/replica-thread'; export default (replica) => replica.allReduceSync('sum', 1);",
};

/** The programs whose sizes have a budget: a value, and one all-reduce by each engine for browsers. */
export const measuredPrograms = {
  enum: "import { ReduceOp } from '@coll/core'; console.log(ReduceOp.SUM);",
  js: allReduceBy('jsEngine'),
  wasm: allReduceBy('wasmEngine'),
};

/** Bundles a program for browsers or Node.js, with the packages that are installed in a folder. */
export async function bundle(
  program: string,
  folder: string,
  platform: 'browser' | 'node',
  external: readonly string[] = [],
): Promise<Bundle> {
  const builtIn = platform === 'browser' ? ['node:*'] : [];
  const options: BuildOptions = { external: [...builtIn, ...external], platform, format: 'esm' };
  const { outputFiles, metafile } = await build({
    ...options,
    stdin: { contents: program, resolveDir: folder, loader: 'js' },
    absWorkingDir: folder,
    bundle: true,
    minify: true,
    target: 'es2022',
    write: false,
    metafile: true,
    outdir: 'out',
    logLevel: 'silent',
  });
  const [{ contents, text }] = outputFiles as [(typeof outputFiles)[number]];
  return {
    code: text,
    bytes: contents.length,
    gzip: gzipSync(contents, { level: 9 }).length,
    files: filesIn(metafile),
  };
}

function filesIn({ outputs }: Metafile): string[] {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) =>
      bytesInOutput > 0 && file !== '<stdin>' ? [file] : [],
    ),
  );
}
