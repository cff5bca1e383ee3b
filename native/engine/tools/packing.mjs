// Packs a package and those with its binaries.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildAddon, buildFolder, buildPlatform } from './builds.mjs';
import { name as binaryName, folder, itsPlatforms, label } from './flags.mjs';
import { platforms, thisPlatform } from './platforms.mjs';
import { CommandFailed, runToEnd } from './run-to-end.mjs';
import { checkSystemSymbols } from './system-symbols.mjs';

const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
const { version, license, homepage, repository, keywords, engines, publishConfig } = manifest;
const about = { license, homepage, repository, keywords, engines };
const packageOf = (platform) => `${manifest.name}-${platform}`;
const tarballOf = (name) => `${name.slice(1).replace('/', '-')}-${version}.tgz`;

/** The binary of a platform, built by its recipe. */
async function binaryOf(platform) {
  if (platform === thisPlatform() && platforms[platform].settings === undefined) {
    process.env.COLL_REQUIRE_NATIVE = '1';
    await buildAddon('release', { forEveryProcessor: true });
    return path.join(buildFolder('release'), `${binaryName}.node`);
  }
  return path.join(buildPlatform(platform).into, `${binaryName}.node`);
}

/** An empty folder to put a package together in, of this process alone: several may pack at the same time. */
function stageFor(name) {
  const stage = path.join(stages, name);
  mkdirSync(stage, { recursive: true });
  return stage;
}

function pack(name, stage, into) {
  runToEnd('npm', ['pack', '--silent', '--pack-destination', into], { quiet: true, cwd: stage });
  console.log(path.join(into, tarballOf(name)));
}

/** A package of one file, which npm installs on its platform only. */
async function packBinary(platform, into) {
  const { os, cpu, libc, strip } = platforms[platform];
  const name = packageOf(platform);
  const stage = stageFor(name);
  const binary = path.join(stage, `${binaryName}.node`);
  cpSync(await binaryOf(platform), binary);
  runToEnd(strip[0], [...strip.slice(1), binary]);
  if (libc === 'glibc') checkSystemSymbols(binary);
  const description = `The binary of ${manifest.name} for ${platform}`;
  const where = { os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) };
  const main = path.basename(binary);
  writeJson(stage, { name, version, description, ...about, ...where, main, files: [main], publishConfig });
  writeFileSync(path.join(stage, 'README.md'), `# ${name}\n\n${description}, which installs it by itself.\n`);
  cpSync(path.join(folder, 'LICENSE'), path.join(stage, 'LICENSE'));
  pack(name, stage, into);
}

/** The package that people install. It names the binaries packed so far, which the manifest in the repository cannot do: they are not published yet. */
function packNative(into) {
  for (const built of ['dist/index.js', 'types/index.d.ts']) {
    if (!existsSync(path.join(folder, built))) throw new CommandFailed(`${built} is missing: npm run build`);
  }
  const packed = Object.keys(platforms).filter((platform) =>
    existsSync(path.join(into, tarballOf(packageOf(platform)))),
  );
  const { devDependencies: _, scripts: __, ...published } = manifest;
  const optionalDependencies = Object.fromEntries(packed.map((platform) => [packageOf(platform), version]));
  const stage = stageFor(manifest.name);
  for (const part of ['dist', 'types', 'src', 'README.md', 'LICENSE'])
    cpSync(path.join(folder, part), path.join(stage, part), { recursive: true });
  writeJson(stage, { ...published, optionalDependencies });
  pack(manifest.name, stage, into);
}

const stages = path.join(buildFolder('packages'), `${process.pid}`);

const writeJson = (stage, value) =>
  writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(value, null, 2)}\n`);

/** In place of platforms: builds no binary, and packs only the package that names those packed so far. */
const listOnly = '--list';

/** Packs into `target` for the platforms `asked` for, this one unless said. Ends the process with 1 where it cannot. */
export async function packInto(target, asked) {
  try {
    await packWanted(target, asked);
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    console.error(`${label}: ${error.message}`);
    process.exitCode = 1;
  } finally {
    rmSync(stages, { recursive: true, force: true });
  }
}

async function packWanted(target, asked) {
  const wanted = asked[0] === listOnly ? [] : asked.length > 0 ? asked : [thisPlatform()];
  const known = Object.keys(platforms).filter((it) => itsPlatforms?.includes(platforms[it].os) !== false);
  if (target === undefined || wanted.some((platform) => !known.includes(platform))) {
    throw new CommandFailed(`node pack.mjs <folder> [<platform> ... | ${listOnly}]; platforms: ${known.join(', ')}`);
  }
  const into = path.resolve(target);
  mkdirSync(into, { recursive: true });
  for (const platform of wanted) await packBinary(platform, into);
  packNative(into);
}
