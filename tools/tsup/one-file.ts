import path from 'node:path';
import { build, type Plugin } from 'esbuild';

/**
 * Puts the code of all entries into one of them; the others only re-export their names from it. An entry
 * that exports nothing, but has an effect, keeps its code and imports the rest. Node.js takes about half a
 * millisecond for each file that a program loads.
 * @param entries the sources of the entries
 * @param whole the entry that gets the code of all
 */
export function oneFile(entries: readonly string[], whole: string): Plugin {
  return {
    name: 'one-file',
    async setup(building) {
      const names = await exportedNames(entries);
      const isEffect = (entry: string) => names.get(entry)?.length === 0;
      const exporting = entries.filter((entry) => !isEffect(entry));
      building.onResolve({ filter: /./ }, ({ kind, path: file, namespace, importer }) => {
        const source = path.posix.normalize(file);
        if (kind === 'entry-point' && !isEffect(source))
          return { path: source, namespace: source === whole ? 'whole' : 'part' };
        if (namespace === 'part') return { path: file, external: true };
        const from = path.posix.relative(process.cwd(), importer);
        return file.startsWith('.') && isEffect(from) ? { path: addressFrom(from, whole), external: true } : undefined;
      });
      building.onLoad({ filter: /./, namespace: 'whole' }, () => ({
        contents: exporting.map((entry) => `export * from './${entry}';`).join('\n'),
        resolveDir: process.cwd(),
      }));
      building.onLoad({ filter: /./, namespace: 'part' }, ({ path: file }) => ({
        contents: `export { ${names.get(file)?.join(', ')} } from '${addressFrom(file, whole)}';`,
      }));
    },
  };
}

/** Lets built code import the parts of our packages from the files with the code of all parts. */
export function fromOneFile(code: string): string {
  return code
    .replaceAll(
      /^((?:import|\} from|export .* from|import .* from) "@coll\/(?:core|rendezvous))(?:\/\w+)?";$/gm,
      '$1/internal";',
    )
    .replaceAll(/^((?:import|\} from|export .* from|import .* from) "@coll\/native)\/machine";$/gm, '$1/addon";');
}

/** The values that each entry exports, by its source. */
async function exportedNames(entries: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await build({
    entryPoints: [...entries],
    outdir: 'out',
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    metafile: true,
    logLevel: 'silent',
  });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint as string, exports]));
}

function addressFrom(file: string, whole: string): string {
  const address = path.posix.relative(path.posix.dirname(file), whole).replace(/\.ts$/, '.js');
  return address.startsWith('.') ? address : `./${address}`;
}
