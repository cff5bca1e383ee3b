import { Random } from './random.ts';

/** What goes wrong. */
export const faults = [
  /** Nothing. */
  'none',
  /** The victim's process is killed, from outside. */
  'kill',
  /** So is another one's, at the same time. */
  'kill two',
  /** It is stopped, and does not answer any more. */
  'stop',
  /** Its connections to all others are cut. */
  'cut',
  /** The connection to one other is cut. */
  'cut one',
  /** All data sent to it and by it is dropped in silence. */
  'silence',
  /** It ends in the middle, with another exit code than 0. */
  'exit',
  /** It throws, and says so to its group. */
  'throw',
  /** It closes its group while the others wait. */
  'leave',
  /** It sends a message to one of the others and leaves: it closes its group, or its process ends with exit code 0. */
  'last',
  /** It never makes the call that the others wait in. */
  'late',
  /** One of the others aborts its call while the victim is late. */
  'abort',
  /** It is not there when the group is opened. */
  'absent',
  /** Its process is killed while the group opens. */
  'opening',
  /** Rank 0, which keeps the store in which workers meet, is killed while the group opens. */
  'keeper',
  /** It asks for something else than the others. */
  'kind',
  'op',
  'dtype',
  'length',
  /** It makes two calls in the other order. */
  'order',
  /** It alone makes a call that is refused, catches the error, and goes on. */
  'refusal',
] as const;
export type Fault = (typeof faults)[number];

/** Faults of a member that asks for something else than the others. */
export const disagreements: readonly Fault[] = ['kind', 'op', 'dtype', 'length', 'order', 'refusal'];

/** Whether the victim of `last` ends its process. Otherwise it closes its group. */
export const endsProcess = ({ fault, afterMillis }: Scenario): boolean => fault === 'last' && afterMillis % 2 === 0;

/** What a member writes into the store while the group opens, in this order. Over TCP, it has no memory to open. */
export const openingSteps = ['peers', 'opened', 'links'] as const;

/** A group, what it does, and what goes wrong. */
export interface Scenario {
  readonly seed: number;
  readonly fault: Fault;
  readonly size: number;
  /** Of each member, which holds all of its own. */
  readonly replicas: 1 | 2;
  readonly transport: 'shared-memory' | 'tcp';
  readonly streams: number;
  /** Whether connections within a host are encrypted, too. */
  readonly encrypt: 'between-hosts' | 'always';
  readonly heartbeatSeconds: number;
  /** Whose doing it is. */
  readonly victim: number;
  /** Another one, where two are concerned. */
  readonly other: number;
  /** The call at which it happens, where the victim does it itself. */
  readonly at: number;
  /** After the first call has begun, or the victim has come to its step, where it is done to the victim. */
  readonly afterMillis: number;
  /** How far the victim comes that is killed while the group opens. */
  readonly step: (typeof openingSteps)[number];
}

/** Faults that happen whatever the victim is doing. */
export const isFromOutside = (fault: Fault): boolean =>
  ['kill', 'kill two', 'stop', 'cut', 'cut one', 'silence'].includes(fault);

/** Faults that nobody but a heartbeat notices. */
export const isSilent = (fault: Fault): boolean => fault === 'stop' || fault === 'silence';

/** All faults take turns, so that some seeds in a row have met each. */
export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const fault = faults[seed % faults.length] as Fault;
  // To tell who is odd takes three, and somebody must be left to tell of two.
  const size = fault === 'kill two' ? 3 + random.below(3) : 2 + random.below(4);
  const victim = fault === 'keeper' ? 0 : random.below(size);
  const scenario: Scenario = {
    seed,
    fault,
    size,
    victim,
    other: (victim + 1 + random.below(size - 1)) % size,
    transport: random.pick(['shared-memory', 'tcp']),
    streams: random.pick([1, 1, 2]),
    // Where nobody is silent, a machine that is busy with other things must not look as if somebody were.
    heartbeatSeconds: 20,
    at: random.below(12),
    afterMillis: random.below(60),
    // Before, others may not have reached the store yet: they wait for another one.
    step: random.pick(fault === 'keeper' ? openingSteps.slice(1) : openingSteps),
    replicas: random.pick([1, 1, 2]),
    encrypt: random.pick(['between-hosts', 'always']),
  };
  return scenario.transport === 'tcp' && scenario.step === 'opened' ? { ...scenario, step: 'links' } : scenario;
}

/** For people. */
export function describeScenario(scenario: Scenario): string {
  const { seed, fault, size, victim, replicas, transport, streams, encrypt } = scenario;
  const more = [
    ...(replicas > 1 ? [`${replicas} replicas each`] : []),
    ...(streams > 1 ? [`${streams} streams`] : []),
    ...(encrypt === 'always' ? ['encrypted'] : []),
  ];
  return [`seed ${seed}: ${fault}`, `rank ${victim} of ${size}`, transport, ...more].join(', ');
}
