import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** Why this machine cannot make hosts of its own; undefined if it can. */
export function whatHostsLack(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces need Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  for (const command of [
    ['ip', 'netns', 'list'],
    ['unshare', '--net', '--uts', 'true'],
    ['python3', '-c', 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)'],
  ] as const) {
    const [name, ...args] = command;
    if (spawnSync(name, args).status !== 0) return `this fails here: ${command.join(' ')}`;
  }
  return undefined;
}

/** Two hosts with names and networks of their own and a cable between them, on which everything is captured. */
export class TwoHosts {
  readonly addresses = ['10.97.0.1', '10.97.0.2'] as const;
  readonly #names = ['a', 'b'].map((end) => `coll-${process.pid}-${end}`);
  readonly #file: string;
  #capture: ChildProcess | undefined;

  /** `file`: takes what is captured. */
  constructor(file: string) {
    this.#file = file;
  }

  async open(): Promise<void> {
    const [one, other] = this.#names as [string, string];
    for (const name of this.#names) ip('netns', 'add', name);
    ip('link', 'add', 'cable', 'netns', one, 'type', 'veth', 'peer', 'name', 'cable', 'netns', other);
    for (const [index, name] of this.#names.entries()) {
      ip('-n', name, 'link', 'set', 'lo', 'up');
      ip('-n', name, 'link', 'set', 'cable', 'up');
      ip('-n', name, 'address', 'add', `${this.addresses[index]}/24`, 'dev', 'cable');
    }
    this.#capture = spawn('ip', ['netns', 'exec', one, 'python3', '-c', captureProgram, this.#file]);
    // It has begun to listen.
    await once(this.#capture.stdout as NodeJS.ReadableStream, 'data');
  }

  /** Runs a program on a host. Returns what it printed. @throws Error if it fails */
  async run(host: 0 | 1, command: readonly string[], variables: NodeJS.ProcessEnv): Promise<string> {
    const named = ['unshare', '--uts', 'sh', '-c', 'hostname "$0" && exec "$@"', `host-${host}`, ...command];
    const child = spawn('ip', ['netns', 'exec', this.#names[host] as string, ...named], {
      env: { ...process.env, ...variables },
      timeout: 240_000,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`host ${host} ended with ${code}: ${output}`);
    return output;
  }

  /** Ends the capture. Returns all packets, one after the other. */
  async captured(): Promise<Buffer> {
    const capture = this.#capture as ChildProcess;
    const ended = once(capture, 'close');
    capture.stdin?.end();
    await ended;
    return readFileSync(this.#file);
  }

  close(): void {
    this.#capture?.kill('SIGKILL');
    for (const name of this.#names) spawnSync('ip', ['netns', 'delete', name]);
  }
}

// Ends when its input ends, once there are no more packets.
const captureProgram = `
import select, socket, sys
ALL, FORCED_BUFFER = 3, 33
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
packets.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, 1 << 26)
packets.bind(("cable", 0))
print("listens", flush=True)
with open(sys.argv[1], "wb") as file:
    while True:
        ready = select.select([packets, sys.stdin], [], [])[0]
        if packets in ready:
            file.write(packets.recv(1 << 18))
        elif sys.stdin in ready:
            break
`;

function ip(...args: readonly string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}
