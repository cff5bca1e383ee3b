import type { Finding } from './inject-faults.ts';
import { type Fault, faults } from './scenario.ts';
import { expectations } from './verdict.ts';

const descriptions: Readonly<Record<Exclude<Fault, 'none'>, readonly [what: string, who: string]>> = {
  kill: ["The member's process is killed.", 'all others'],
  'kill two': [
    'The processes of two members are killed.',
    'All other members get the error, which names each member whose loss has already been detected.',
  ],
  exit: ["The member's process ends with an exit code other than 0.", 'all others'],
  stop: [
    "The member's process is stopped.",
    'All other members get the error. If the member continues, it also gets the error.',
  ],
  cut: [
    "The member's connections are cut.",
    'All members get the error. Two members that have lost each other name each other.',
  ],
  'cut one': [
    'The connection between two members is cut.',
    'All members get the error. These two members name each other. Each other member names one of these two.',
  ],
  silence: ['The network loses all packets of the member.', 'all members'],
  throw: ['The member throws (`group.fail(error)`).', 'all others, with its message'],
  leave: ['The member closes its group while others wait.', 'all others'],
  last: [
    'The member sends a message and leaves, or its process ends with exit code 0.',
    'all others, once the message has arrived',
  ],
  late: ['The member does not arrive within `timeoutSeconds`.', 'all waiting members'],
  abort: ['The call of another member is aborted.', 'all members'],
  absent: ['The member does not start before the group opens.', 'all members that open the group'],
  opening: ["The member's process is killed while the group opens.", 'all others'],
  keeper: ['The member serves the store, and its process is killed while the group opens.', 'all others'],
  kind: ['The member calls another collective.', 'all members, the same error'],
  op: ['The member passes another op.', 'all members, the same error'],
  dtype: ['The member passes another dtype.', 'all members, the same error'],
  length: ['The member passes another length.', 'all members, the same error'],
  order: [
    'The member makes two calls in a different order.',
    'All members get the same error, which is the error of this row or of one of the two rows above.',
  ],
  refusal: [
    'The member makes a call that is refused on this member only, catches the error, and makes its next call.',
    'all members, with the code of the caught error',
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
    const [what, who] = descriptions[fault];
    const median = millis[Math.floor(millis.length / 2)] as number;
    return [[what, `\`${name}\``, `\`${code}\``, who, timeOf(median), timeOf(millis.at(-1) as number)]];
  });
  const head = ['fault of a member', 'error', 'code', 'who gets the error', 'median', 'worst'];
  return [head, ['---', '---', '---', '---', '---:', '---:'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

const [begin, end] = ['<!-- measured -->', '<!-- /measured -->'];

/** The page with a table of these findings in the place of the one that it has. */
export function withTable(page: string, findings: readonly Finding[]): string {
  const [before, after] = [page.indexOf(begin) + begin.length, page.indexOf(end)];
  const origin = [
    `The times from the fault to the error were measured on all members of ${findings.length} groups of 2 to 5 processes. Each process had one or two replicas, and other programs ran on the machine.`,
    '`heartbeatSeconds` was 1.5 in the rows of a stopped process and of lost packets.',
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
