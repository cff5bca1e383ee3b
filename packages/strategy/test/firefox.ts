import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const executable = '/usr/bin/firefox-esr';

const preferences = {
  // Any free port, which Firefox then writes to its profile.
  'marionette.port': 0,
  // Pages that have been left end at once, with their workers.
  'browser.sessionhistory.max_total_viewers': 0,
  'app.normandy.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.enabled': false,
};

/** Whether this machine has Firefox. */
export const hasFirefox = existsSync(executable);

type Reply = readonly [type: 1, id: number, error: { readonly message: string } | null, result: unknown];

/** Firefox without a window and with one tab, driven by Marionette: each message is its length in bytes, a colon, and JSON. */
export class Firefox implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: Socket;
  readonly #replies = new Map<number, (reply: Reply) => void>();
  #received = Buffer.alloc(0);
  #sent = 0;

  static async launch(): Promise<Firefox> {
    const profile = await mkdtemp(path.join(tmpdir(), 'coll-firefox-'));
    const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${value});\n`);
    await writeFile(path.join(profile, 'user.js'), lines.join(''));
    const args = ['--headless', '--no-remote', '--profile', profile, '--marionette', 'about:blank'];
    const child = spawn(executable, args, { stdio: 'ignore' });
    const port = await portOf(child, path.join(profile, 'MarionetteActivePort'));
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const firefox = new Firefox(child, profile, socket);
    await firefox.#send('WebDriver:NewSession', {});
    await firefox.#send('WebDriver:SetTimeouts', { script: 3_600_000 });
    return firefox;
  }

  private constructor(child: ChildProcess, profile: string, socket: Socket) {
    this.#process = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.on('data', (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#read();
    });
  }

  async goto(address: string): Promise<void> {
    await this.#send('WebDriver:Navigate', { url: address });
  }

  /** The value of an expression in the page, or of its promise, as JSON keeps it. */
  async evaluate(code: string): Promise<unknown> {
    const script = `return (async () => JSON.stringify(await (${code})))()`;
    const { value } = (await this.#send('WebDriver:ExecuteScript', { script, args: [], sandbox: null })) as {
      readonly value: string | null;
    };
    return value === null ? undefined : JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#process.exitCode === null ? once(this.#process, 'exit') : undefined;
    this.#process.kill();
    await ended;
    this.#socket.destroy();
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 3 });
  }

  #send(name: string, parameters: unknown): Promise<unknown> {
    this.#sent += 1;
    const id = this.#sent;
    const message = JSON.stringify([0, id, name, parameters]);
    this.#socket.write(`${Buffer.byteLength(message)}:${message}`);
    return new Promise((resolve, reject) => {
      this.#replies.set(id, ([, , error, result]) => {
        if (error) reject(new Error(`${name}: ${error.message}`));
        else resolve(result);
      });
    });
  }

  #read(): void {
    for (;;) {
      const begin = this.#received.indexOf(':') + 1;
      const end = begin + Number(this.#received.subarray(0, Math.max(0, begin - 1)));
      if (begin === 0 || this.#received.length < end) return;
      const message = JSON.parse(this.#received.toString('utf8', begin, end)) as Reply;
      this.#received = this.#received.subarray(end);
      // The first message is a greeting, and not a reply.
      if (Array.isArray(message)) this.#replies.get(message[1])?.(message);
    }
  }
}

/** The port in this file, once Firefox has written it. */
async function portOf(firefox: ChildProcess, file: string): Promise<number> {
  for (;;) {
    if (firefox.exitCode !== null) throw new Error(`Firefox ended with exit code ${firefox.exitCode}`);
    const port = Number(await readFile(file, 'utf8').catch(() => ''));
    if (port > 0) return port;
    await delay(50);
  }
}
