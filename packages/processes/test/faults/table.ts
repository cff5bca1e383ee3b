import type { Finding } from './inject-faults.ts';
import { type Fault, faults } from './scenario.ts';
import { expectations } from './verdict.ts';

const told: Readonly<Record<Exclude<Fault, 'none'>, readonly [what: string, who: string]>> = {
  kill: ['its process is killed', 'all others'],
  'kill two': ['its process and that of another one are killed', 'all others; the message names each that is known'],
  exit: ['its process ends with another exit code than 0', 'all others'],
  stop: ['its process is stopped', 'all others, and the member itself when it goes on'],
  cut: ['its connections are cut', 'all members; those that are cut off from each other name each other'],
  'cut one': [
    'the connection between two members is cut',
    'all members; the two name each other, the others one of them',
  ],
  silence: ['what it sends and gets is lost on the way', 'all members'],
  throw: ['it throws (`group.fail(error)`)', 'all others, with its message'],
  leave: ['it closes its group while others wait', 'all others'],
  late: ['it does not come within `timeoutSeconds`', 'all that wait'],
  abort: ["another one's call is aborted", 'all members'],
  absent: ['it is not there when the group is opened', 'all that open the group'],
  opening: ['its process is killed while the group opens', 'all others'],
  keeper: ['it keeps the store in which workers meet, and its process is killed while the group opens', 'all others'],
  kind: ['it calls another collective', 'all members, the same error'],
  op: ['it names another op', 'all members, the same error'],
  dtype: ['it hands in another dtype', 'all members, the same error'],
  length: ['it hands in another length', 'all members, the same error'],
  order: [
    'it makes two calls in the other order',
    'all members, the same error, of this class or one of the two above',
  ],
};

/** What members see when something goes wrong with one of them, and how soon: a table for the docs. */
export function tableOf(findings: readonly Finding[]): string {
  const rows = faults.flatMap((fault) => {
    if (fault === 'none') return [];
    const millis = findings
      .filter(({ scenario }) => scenario.fault === fault)
      .flatMap((finding) => finding.millis)
      .sort((a, b) => a - b);
    if (millis.length === 0) return [];
    const { class: name, code } = expectations[fault];
    const [what, who] = told[fault];
    const median = millis[Math.floor(millis.length / 2)] as number;
    return [[what, `\`${name}\``, `\`${code}\``, who, timeOf(median), timeOf(millis.at(-1) as number)]];
  });
  const head = ['what goes wrong with a member', 'error', 'code', 'who gets it', 'median', 'worst'];
  return [head, ['---', '---', '---', '---', '---:', '---:'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

const [begin, end] = ['<!-- measured -->', '<!-- /measured -->'];

/** The page with a table of these findings in the place of the one that it has. */
export function withTable(page: string, findings: readonly Finding[]): string {
  const [before, after] = [page.indexOf(begin) + begin.length, page.indexOf(end)];
  const origin = [
    `From the fault to the error, of all members of ${findings.length} groups of 2 to 5 processes, each with a replica or two, on a machine with other work.`,
    '`heartbeatSeconds` was 1.5 for those that fall silent.',
  ].join(' ');
  const table = `\n\n${tableOf(findings)}\n\n${origin}\n\n`;
  return `${page.slice(0, before)}${table}${page.slice(after)}`;
}

function timeOf(millis: number): string {
  return millis < 10
    ? `${Math.max(0, millis).toFixed(1)} ms`
    : millis < 1000
      ? `${Math.round(millis)} ms`
      : `${(millis / 1000).toFixed(2)} s`;
}
