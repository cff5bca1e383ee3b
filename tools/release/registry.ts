import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { plainEnvironment } from '../package-shape/user-project.ts';

/** The last version for Node 20. */
const version = '6.8.0';

/** A registry of npm packages on loopback. It has what is published to it, and everything that the registry of this machine has. */
export interface Registry {
  readonly url: string;
  /** Environment variables with which npm, pnpm, Yarn and Bun use the registry, and npm may publish. */
  readonly env: NodeJS.ProcessEnv;
  close(): Promise<void>;
}

/** Starts Verdaccio. @param folder an empty folder for its files */
export async function openRegistry(folder: string): Promise<Registry> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = path.join(folder, 'config.yaml');
  writeFileSync(config, configuration(folder));
  const log = path.join(folder, 'log.txt');
  const output = openSync(log, 'w');
  const args = [
    path.join(installed(), 'node_modules/verdaccio/bin/verdaccio'),
    '--config',
    config,
    '--listen',
    `127.0.0.1:${port}`,
  ];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', output, output] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  await answer(url, () => child.exitCode, log);
  const settings = path.join(folder, 'npmrc');
  writeFileSync(settings, `//127.0.0.1:${port}/:_authToken=${await newUser(url)}\n`);
  const cache = mkdtempSync(path.join(folder, 'cache-'));
  return {
    url,
    env: {
      npm_config_registry: url,
      npm_config_userconfig: settings,
      npm_config_cache: cache,
      pnpm_config_registry: url,
      // By default, pnpm and Yarn refuse packages that were published less than a day ago.
      pnpm_config_minimum_release_age: '0',
      YARN_NPM_MINIMAL_AGE_GATE: '0',
      YARN_NPM_REGISTRY_SERVER: url,
      YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
      YARN_GLOBAL_FOLDER: path.join(cache, 'yarn'),
      YARN_CACHE_FOLDER: path.join(cache, 'yarn-cache'),
      BUN_INSTALL_CACHE_DIR: path.join(cache, 'bun'),
    },
    async close() {
      process.off('exit', kill);
      const exit = once(child, 'exit');
      kill();
      await exit;
    },
  };
}

/** Installs Verdaccio once per machine. It is no dependency of the repository, because it has 300 packages. @returns the folder */
function installed(): string {
  const cache = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'coll');
  const folder = path.join(cache, `verdaccio-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(path.join(cache, 'draft-'));
  // It asks for a dist-tag of node-fetch, which not every mirror of the registry has.
  const manifest = { private: true, dependencies: { verdaccio: version }, overrides: { 'node-fetch': '2.7.0' } };
  writeFileSync(path.join(draft, 'package.json'), JSON.stringify(manifest));
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: draft,
    env: plainEnvironment(),
    stdio: 'pipe',
  });
  // Renamed at the end, so that an interrupted installation leaves no folder of that name.
  renameSync(draft, folder);
  return folder;
}

/** Packages of coll come from here only, so that a test never installs a package that somebody else has published. */
function configuration(folder: string): string {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], {
    cwd: folder,
    env: plainEnvironment(),
    encoding: 'utf8',
  }).trim();
  mkdirSync(path.join(folder, 'storage'));
  const ours = '{ access: $all, publish: $authenticated }';
  return `storage: ./storage
auth: { htpasswd: { file: ./htpasswd } }
uplinks: { upstream: { url: '${upstream}', timeout: 60s } }
packages:
  '@coll/*': ${ours}
  create-coll: ${ours}
  '**': { access: $all, proxy: upstream }
log: { type: stdout, format: pretty, level: warn }
`;
}

async function answer(url: string, exitCode: () => number | null, log: string): Promise<void> {
  for (;;) {
    if (exitCode() !== null) throw new Error(`Verdaccio ended with ${exitCode()}:\n${readFileSync(log, 'utf8')}`);
    try {
      if ((await fetch(`${url}-/ping`)).ok) return;
    } catch {
      // It does not listen yet.
    }
    await after(100);
  }
}

/** Creates a user who may publish. @returns the token */
async function newUser(url: string): Promise<string> {
  const name = 'rehearsal';
  const response = await fetch(`${url}-/user/org.couchdb.user:${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, password: 'on loopback only' }),
  });
  const { token } = (await response.json()) as { token?: string };
  if (token === undefined) throw new Error(`Verdaccio created no user: ${response.status}`);
  return token;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
