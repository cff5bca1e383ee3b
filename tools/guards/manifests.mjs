// Checks that published manifests have the homepage, repository and keywords of the root package.json, that each entry
// of a package has its built files under the same conditions, and that READMEs link to files of their tarball or to the
// homepage. `--write` corrects them.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const isWriting = process.argv.includes('--write');
const read = (file) => readFileSync(path.join(root, file), 'utf8');
const { homepage, repository, keywords } = JSON.parse(read('package.json'));
const parents = ['packages', 'native'];
const folders = parents
  .flatMap((parent) => readdirSync(path.join(root, parent)).map((name) => `${parent}/${name}`))
  .filter((folder) => existsSync(path.join(root, folder, 'package.json')));
const faults = [];

/** Writes the wanted text or, without `--write`, notes a fault if the file differs. */
function ensure(file, wanted, fault) {
  if (read(file) === wanted) return;
  if (isWriting) writeFileSync(path.join(root, file), wanted);
  else faults.push(`${file}: ${fault}: npm run manifests`);
}

const addressOf = (file) =>
  `${homepage}/${statSync(path.join(root, file)).isDirectory() ? 'tree' : 'blob'}/main/${file}`;

// Members of a group compare their release, which must also be in bundles.
const releaseFile = 'packages/core/src/support/release.ts';
const { version: release } = JSON.parse(read('packages/core/package.json'));
ensure(
  releaseFile,
  read(releaseFile).replace(/release = '.*'/, `release = '${release}'`),
  `the release must be ${release}`,
);

const source = '@coll/source';

/**
 * The files of an entry. Only if all packages have the same conditions, a program or bundle gets the same copy of every
 * package. An entry may have a version for pages, `page-NAME.ts`, which uses the same copies as other platforms.
 */
function entryOf(folder, target) {
  if (typeof target === 'string') return target;
  const name = target[source].replace(/^\.\/src\/(.*)\.ts$/, '$1');
  return {
    [source]: `./src/${name}.ts`,
    types: `./types/${name}.d.ts`,
    node: `./dist/${name}.js`,
    ...(existsSync(path.join(root, folder, `src/page-${name}.ts`))
      ? { browser: `./dist/modules/page-${name}.js` }
      : {}),
    default: `./dist/modules/${name}.js`,
  };
}

/** The modules with side effects, each as source and as built files. */
function effectsOf(effects) {
  if (!Array.isArray(effects)) return effects;
  const names = effects.flatMap((file) => /^\.\/src\/(.*)\.ts$/.exec(file)?.[1] ?? []);
  return names.flatMap((name) => [`./dist/${name}.js`, `./dist/modules/${name}.js`, `./src/${name}.ts`]);
}

function manifestOf(folder) {
  const {
    name,
    version,
    description,
    license,
    homepage: _,
    repository: __,
    keywords: ___,
    ...rest
  } = JSON.parse(read(`${folder}/package.json`));
  const home = { homepage: addressOf(folder), repository: { ...repository, directory: folder }, keywords };
  if (rest.exports) {
    rest.exports = Object.fromEntries(
      Object.entries(rest.exports).map(([name, target]) => [name, entryOf(folder, target)]),
    );
    rest.sideEffects = effectsOf(rest.sideEffects);
  }
  return `${JSON.stringify({ name, version, description, license, ...home, ...rest }, null, 2)}\n`;
}

/**
 * The file in the repository that a link of a README leads to, and whether the link is an address;
 * undefined for other links.
 */
function destination(folder, link, oldHome) {
  const [target] = link.split('#');
  if (target === '' || target.startsWith('mailto:')) return undefined;
  if (!/^https?:/.test(target)) return { file: path.posix.join(folder, target), isAddress: false };
  const home = [homepage, oldHome].find((it) => it && target.startsWith(`${it}/`));
  return home && { file: target.slice(home.length + 1).replace(/^(blob|tree)\/main\//, ''), isAddress: true };
}

function linkOf(folder, files, link, oldHome) {
  const to = destination(folder, link, oldHome);
  if (to === undefined) return link;
  if (!existsSync(path.join(root, to.file))) {
    faults.push(`${folder}/README.md: there is no ${to.file}, to which it links`);
    return link;
  }
  const inside = path.posix.relative(folder, to.file);
  const isShipped = ['README.md', 'LICENSE', ...files].some((part) => inside === part || inside.startsWith(`${part}/`));
  if (!to.isAddress && isShipped) return link;
  const [, anchor] = link.split('#');
  return addressOf(to.file) + (anchor === undefined ? '' : `#${anchor}`);
}

for (const folder of folders) {
  const { homepage: old = '', files = [] } = JSON.parse(read(`${folder}/package.json`));
  ensure(
    `${folder}/package.json`,
    manifestOf(folder),
    'its home must be as in the root package.json, and its entries as those of other packages',
  );
  const oldHome = old.replace(/\/tree\/main\/.*$/, '');
  const readme = `${folder}/README.md`;
  const linked = read(readme).replace(/\]\(([^)\s]+)\)/g, (_, link) => `](${linkOf(folder, files, link, oldHome)})`);
  ensure(readme, linked, 'links must lead to files of the tarball or to the homepage');
}

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
