import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { TcpStoreServer } from '@coll/rendezvous';
import { checksumCost } from './checksum-cost.ts';
import type { LinkFigures, LinkRank, Protection } from './rank.ts';

// All-reduce between hosts with slow links, which a tool makes on this machine: COLL_NETLAB names it. It knows
//   up N rate 1gbit delay 5ms      makes hosts h0, h1, ... at 10.99.0.1, 10.99.0.2, ... with names of their own
//   exec hK COMMAND...             runs a command on one
//   down                           removes them
// and sees the files of this machine on all hosts.
//
//   COLL_NETLAB=... npm run links -- --hosts 2,4 --rate 1gbit --delay 5ms --bytes 16777216 --streams auto,1,4
//
// With --rate none, nothing but the tool limits the links. Encrypted and insecure calls alternate. Without the tool, only
// the cost of checksums is measured.

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '2,4' },
    rate: { type: 'string', default: '1gbit' },
    delay: { type: 'string', default: '5ms' },
    bytes: { type: 'string', default: '16777216' },
    streams: { type: 'string', default: 'auto' },
    algorithms: { type: 'string', default: 'direct,ring' },
    calls: { type: 'string', default: '7' },
    protections: { type: 'string', default: 'encrypted,insecure' },
  },
});
const netlab = process.env['COLL_NETLAB'];
const hasRate = values.rate !== 'none';
console.log(checksumCost());
const missing = whatIsMissing();
if (missing === undefined) await measure();
else console.log(`links are not measured: ${missing}`);

function whatIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'that takes Linux';
  if (!netlab)
    return 'COLL_NETLAB names no tool that makes hosts with slow links (packages/processes/test/links/main.ts says what it must do)';
  if (process.getuid?.() !== 0) return 'network namespaces take root';
  const { status, stderr } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  return status === 0 ? undefined : `there are no network namespaces here: ${stderr || 'no command ip'}`.trim();
}

async function measure(): Promise<void> {
  const columns = ['hosts', 'bytes', 'algorithm', 'streams', 'links', 'median', 'least', 'CPU s per GB'];
  const bounds = hasRate ? ['bound', 'of the bound'] : [];
  console.log(rowOf([...columns, ...bounds]));
  console.log(rowOf([...columns, ...bounds].map(() => '---')));
  for (const size of numbersOf(values.hosts)) {
    run('up', String(size), ...(hasRate ? ['rate', values.rate, 'delay', values.delay] : []));
    try {
      for (const bytes of numbersOf(values.bytes))
        for (const algorithm of values.algorithms.split(',') as LinkRank['algorithm'][])
          for (const streams of streamsOf(values.streams)) await compare({ size, bytes, algorithm, streams });
    } finally {
      run('down');
    }
  }
}

type Case = Pick<LinkRank, 'size' | 'algorithm' | 'streams' | 'bytes'>;

/** Measures a case with each protection, and prints a line of each. */
async function compare({ size, bytes, algorithm, streams }: Case): Promise<void> {
  const calls = Number(values.calls);
  const protections = values.protections.split(',') as Protection[];
  // What each rank sends and receives.
  const gigabytes = (calls * 2 * movedBytes(size, bytes)) / 1e9;
  for (const figures of await allReduce({ size, bytes, algorithm, streams, calls, protections })) {
    const millis = [...figures.millis].sort((a, b) => a - b);
    const [least, median] = [millis[0] as number, millis[Math.floor(millis.length / 2)] as number];
    const times = [median, least].map((value) => `${value.toFixed(value < 10 ? 3 : 0)} ms`);
    // The rest of a small call costs more than its bytes.
    const cpu = bytes < 1e6 ? '' : (figures.cpuMillis / 1000 / gigabytes).toFixed(2);
    const bound = hasRate ? boundMillis(size, bytes) : 0;
    const bounds = hasRate ? [`${bound.toFixed(0)} ms`, `${((100 * bound) / median).toFixed(0)} %`] : [];
    console.log(rowOf([size, bytes, algorithm, streams, figures.protection, ...times, cpu, ...bounds]));
  }
}

function rowOf(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** What every host has to send at the rate of its link, and one way there and back. */
function boundMillis(size: number, bytes: number): number {
  const bitsPerMilli = rateOf(values.rate) / 1000;
  return (movedBytes(size, bytes) * 8) / bitsPerMilli + 2 * Number.parseFloat(values.delay);
}

/** The bytes that each host sends, and also receives, at least. */
function movedBytes(size: number, bytes: number): number {
  return ((2 * (size - 1)) / size) * bytes;
}

function rateOf(rate: string): number {
  const [, amount, unit = ''] = /^([\d.]+)([kmg]?)bit$/.exec(rate) ?? [];
  const factors: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };
  return Number(amount) * (factors[unit] as number);
}

async function allReduce(options: Case & Pick<LinkRank, 'calls' | 'protections'>): Promise<readonly LinkFigures[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-links-'));
  const jobKey = TcpStoreServer.newKey();
  try {
    const ranks = Array.from({ length: options.size }, (_, rank) => {
      const own: LinkRank = { ...options, rank, folder, jobKey, host: `10.99.0.${rank + 1}` };
      return outputOf(rank, own);
    });
    const [first] = await Promise.all(ranks);
    return JSON.parse(first as string);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function outputOf(rank: number, task: LinkRank): Promise<string> {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const entry = fileURLToPath(new URL('./rank.ts', import.meta.url));
  const command = [process.execPath, '--import', tsx, '--conditions=@coll/source', entry, JSON.stringify(task)];
  const child = spawn(netlab as string, ['exec', `h${rank}`, ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [code, output] = await Promise.all([
    new Promise((resolve) => child.once('close', resolve)),
    text(child.stdout),
  ]);
  if (code !== 0) throw new Error(`rank ${rank} ended with ${code}`);
  return output;
}

function run(...args: string[]): void {
  const { status, stderr } = spawnSync(netlab as string, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${netlab} ${args.join(' ')}: ${stderr}`);
}

function streamsOf(list: string): LinkRank['streams'][] {
  return list.split(',').map((streams) => (streams === 'auto' ? streams : Number(streams)));
}

function numbersOf(list: string): number[] {
  return list.split(',').map(Number);
}
