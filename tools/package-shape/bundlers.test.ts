import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import webpack from 'webpack';
import { hasBinary, plainEnvironment, root, UserProject } from './user-project.ts';

const page = readFileSync(path.join(root, 'docs/guides/bundlers.md'), 'utf8');

/** The files on the page, by their names. */
const files = new Map(
  [...page.matchAll(/^```js\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name as string, text as string]),
);

/** The commands below a heading of the page. */
function commandsOf(heading: string): string {
  const [, commands] = new RegExp(`^### ${heading}\\n.*?^\`\`\`sh\\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? [];
  if (commands === undefined) throw new Error(`there are no commands below ${heading}`);
  return commands;
}

const tools = ['@rollup/plugin-node-resolve', 'esbuild', 'rollup', 'vite'];

/** Bundles the program in a folder into its folder `out`. */
const bundlers: Readonly<Record<string, (folder: string) => unknown>> = {
  esbuild: (folder) => run('sh', ['-c', commandsOf('esbuild')], folder),
  Vite: (folder) => run('vite', ['build'], folder),
  webpack: async (folder) => {
    const { default: config } = await import(pathToFileURL(path.join(folder, 'webpack.config.js')).href);
    await bundleByWebpack({ ...config, context: folder });
  },
  Rollup: (folder) => run('rollup', ['--config'], folder),
};

function bundleByWebpack(config: webpack.Configuration): Promise<void> {
  return new Promise((resolve, reject) => {
    webpack(config, (error, stats) => {
      if (error ?? stats?.hasErrors()) reject(error ?? new Error(stats?.toString({ all: false, errors: true })));
      else resolve();
    });
  });
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
): { readonly stdout: string; readonly stderr: string } {
  const PATH = `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env['PATH']}`;
  const ended = spawnSync(command, args, {
    cwd,
    env: { ...plainEnvironment(), PATH },
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (ended.status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${ended.stdout}${ended.stderr}`);
  return ended;
}

describe.runIf(hasBinary('native'))('a program for Node.js', () => {
  let project: UserProject;
  const folders: string[] = [];
  beforeAll(() => {
    const ofStrategy = ['direct', 'multi-worker', 'native', 'processes', 'reduction-to-one', 'rendezvous', 'ring'];
    project = new UserProject(['core', 'strategy', ...ofStrategy], { binary: true });
    project.write('package.json', '{ "private": true, "type": "module" }');
    for (const [name, text] of files) project.write(name, text);
    for (const name of tools) {
      const link = path.join(project.folder, 'node_modules', name);
      mkdirSync(path.dirname(link), { recursive: true });
      symlinkSync(path.join(root, 'node_modules', name), link);
    }
  });
  afterAll(() => {
    project.remove();
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  /** Bundles files, prepares `out` for deployment as the page says, and moves it into an empty folder. */
  async function deployed(bundler: string, changed: Readonly<Record<string, string>> = {}): Promise<string> {
    for (const [name, text] of Object.entries(changed)) project.write(name, text);
    try {
      await bundlers[bundler]?.(project.folder);
    } finally {
      for (const name of Object.keys(changed)) project.write(name, files.get(name) as string);
    }
    run('sh', ['-e', '-c', commandsOf('The folder to deploy')], project.folder);
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-bundle-'));
    folders.push(folder);
    cpSync(path.join(project.folder, 'out'), folder, { recursive: true });
    rmSync(path.join(project.folder, 'out'), { recursive: true });
    return folder;
  }

  it.each(Object.keys(bundlers))(
    'runs replicas in threads on the native engine after a build by %s',
    async (bundler) => {
      const folder = await deployed(bundler);
      expect(run(process.execPath, ['main.js'], folder)).toMatchObject({ stdout: '[ 3, 3 ] native\n', stderr: '' });
      // The folder was moved, so files may not refer to the project.
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('.js'),
      ))
        expect(readFileSync(path.join(folder, file), 'utf8'), file).not.toContain(project.folder);
    },
  );

  it('contains only JavaScript after a build by webpack with its default settings', async () => {
    const { folder } = project;
    const written = path.join(folder, 'by-default');
    await bundleByWebpack({
      mode: 'none',
      target: 'node20',
      context: folder,
      entry: './main.js',
      output: { path: written },
    });
    const others = readdirSync(written).filter((name) => !name.endsWith('.js'));
    rmSync(written, { recursive: true });
    // URLs relative to import.meta.url are files for webpack: replica.js, but no binary and no other file of a package.
    expect(others).toEqual([]);
  });

  it('warns of the slower engine if the binary is missing', async () => {
    const folder = await deployed('esbuild');
    rmSync(path.join(folder, 'node_modules'), { recursive: true });
    const { stdout, stderr } = run(process.execPath, ['main.js'], folder);
    expect(stdout).toBe('[ 3, 3 ] wasm\n');
    expect(stderr).toMatch(
      /^coll warn \S+ \[.*\] using the wasm engine: native was refused .* npm install @coll\/native-/,
    );
  });

  it('runs without a registered plug-in', async () => {
    const without = (name: string) => files.get(name)?.replace("import '@coll/ring/register';\n", '') as string;
    const folder = await deployed('esbuild', { 'main.js': without('main.js'), 'replica.js': without('replica.js') });
    expect(run(process.execPath, ['main.js'], folder).stdout).toBe('[ 3, 3 ] native\n');
  });

  it.each([
    [
      '@coll/strategy/replica-thread',
      /replica.js cannot run in a thread: .* must import '@coll\/strategy\/replica-thread'/,
    ],
    ['@coll/ring/register', /plug-in "ring" is not registered .* must import '@coll\/ring\/register'/],
  ])('reports that the module of its replicas does not import %s', async (name, message) => {
    const replica = files.get('replica.js')?.replace(`import '${name}';\n`, '') as string;
    const folder = await deployed('esbuild', { 'replica.js': replica });
    expect(() => run(process.execPath, ['main.js'], folder)).toThrow(message);
  });

  it('imports the module of its replicas without an effect', async () => {
    const main = `${files.get('main.js')}\nconsole.log(typeof (await import('./replica.js')).default);\n`;
    const folder = await deployed('esbuild', { 'main.js': main });
    expect(run(process.execPath, ['main.js'], folder).stdout).toBe('[ 3, 3 ] native\nfunction\n');
  });
});
