import { fileURLToPath } from 'node:url';

/**
 * The used part of the compiler's API. Its own types declare the globals of AssemblyScript for every file
 * that is checked together with this one.
 */
interface Compiler {
  main(
    argv: readonly string[],
    api: { writeFile(name: string, contents: Uint8Array | string): void },
  ): Promise<{ readonly error?: Error; readonly stderr: unknown }>;
}

const compiler: string = 'assemblyscript/asc';
const folder = fileURLToPath(new URL('./assembly', import.meta.url));

// The caller provides the memory, of at most 4 GiB. @coll/core checks arguments.
const flags = [
  '--optimizeLevel 3 --shrinkLevel 0 --converge --noAssert --runtime stub',
  '--importMemory --sharedMemory --initialMemory 1 --maximumMemory 65536',
  '--enable simd --enable threads --disableWarning 112',
].flatMap((line) => line.split(' '));

/** Compiles the kernels. @throws with the compiler's messages */
async function compileKernels(): Promise<Uint8Array> {
  const { default: asc } = (await import(compiler)) as { default: Compiler };
  let bytes: Uint8Array | undefined;
  const { error, stderr } = await asc.main(['index.ts', '--baseDir', folder, '--outFile', 'kernels.wasm', ...flags], {
    writeFile: (_, contents) => {
      bytes = contents as Uint8Array;
    },
  });
  if (error || !bytes) throw new Error(`the kernels do not compile:\n${stderr}`, { cause: error });
  return bytes;
}

/** The text of packages/core/src/wasm/kernel-bytes.ts, which contains the compiled kernels. */
export async function kernelModule(): Promise<string> {
  const text = Buffer.from(await compileKernels()).toString('hex');
  return `// Compiled from tools/wasm/assembly by \`npm run wasm -w @coll/wasm-kernels\`; the tests compare.

/** The WebAssembly module of the kernels. */
export function kernelBytes(): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: encoded.length / 2 }, (_, at) => 16 * digit(2 * at) + digit(2 * at + 1));
}

function digit(at: number): number {
  const code = encoded.charCodeAt(at);
  return (code & 15) + (code > 57 ? 9 : 0);
}

// Hexadecimal, because gzip finds repeated bytes in it: it compresses to 7 kB, base64 to 13 kB.
const encoded =
  '${text}';
`;
}
