import { type GradientSet, gradientBytes, gradientLengths } from '../gradients.js';
import { type PeerName, peersOver, pythonPeers, type Transport } from '../peers/peers.js';
import { bytesPerElement } from '../sizes.js';
import type { Form, Piece, Session, Trial, Turn, VenueName } from '../trial.js';
import type { Selection } from './selection.js';
import {
  nameOf,
  sessionsOfNetworks,
  trialOf,
  turnOf,
  type Variant,
  variantsOf,
  venueFor,
  yardsticks,
} from './variants.js';
import { sizesToCall, waysToCall } from './ways-to-call.js';

const suite = 'strategy';

/**
 * All-reduce through the contexts of a strategy's replicas: worker threads, functions in one thread, or processes. One array is
 * measured beside the communicators below, and the gradients of networks as one list.
 */
export function strategy(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? sizesToCall(selection.isQuick);
  const label = `${suite}, gradients`;
  const ofNetworks = () => sessionsOfNetworks(label, selection, ranks, (set) => gradientsPiece(selection, ranks, set));
  return [
    { label: suite, ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) },
    // A request of sizes alone asks for no networks.
    ...(selection.bytes !== undefined && selection.networks === undefined ? [] : ofNetworks()),
  ];
}

/** A kind of replica, and its name of the call. */
interface Caller {
  readonly name: string;
  readonly venue: VenueName;
  /** The venue of the communicator below. */
  readonly below: VenueName;
  readonly variant: Variant & { readonly transport?: Transport };
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  const counts = [bytes / bytesPerElement];
  const turns = callersOf(selection).flatMap((caller): Turn[] => {
    const { variant, below } = caller;
    const name = `communicator ${caller.name.split(' ').slice(1).join(' ')}`;
    const memory = variant.transport === undefined ? {} : ({ memory: 'ordinary' } as const);
    const work = { type: 'collective', kind: 'all-reduce' } as const;
    return [
      turnOf(below, { ...variant, ...memory, suite, name, work, ranks, counts }),
      ...turnsOf(caller, selection, ranks, { counts }),
    ];
  });
  return [...yardsticks(suite, ranks, bytes, selection), ...turns, ...peerTurns(selection, ranks, { counts })];
}

function gradientsPiece(selection: Selection, ranks: number, set: GradientSet): Piece {
  const lists = { counts: gradientLengths(set), gradients: set };
  const inPlace: Selection = { ...selection, forms: selection.forms ?? ['sync'], places: ['in'] };
  const turns = callersOf(inPlace)
    .filter(({ variant }) => variant.transport === undefined)
    .flatMap((caller) => turnsOf(caller, inPlace, ranks, lists));
  return [...yardsticks(suite, ranks, gradientBytes(set), selection), ...turns, ...peerTurns(inPlace, ranks, lists)];
}

/** Replicas in threads, in one thread, and in processes, whose strategy chooses its algorithms itself. */
function callersOf(selection: Selection): Caller[] {
  const variants = variantsOf(selection);
  const processes = variants.filter(
    ({ engine, form, algorithm }) =>
      engine === 'native' && form !== 'controller' && algorithm === selection.algorithms[0],
  );
  return [
    ...variants.map((variant) => ({
      name: `${callOf[variant.form]} ${variant.algorithm}`,
      venue: variant.form === 'controller' ? ('main-thread' as const) : ('replica-threads' as const),
      below: venueFor(variant.form),
      variant,
    })),
    ...selection.transports.flatMap((transport) =>
      processes.map((variant) => ({
        name: `${callOf[variant.form]} over ${transport}`,
        venue: 'rank-processes' as const,
        below: 'rank-processes' as const,
        variant: { ...variant, transport },
      })),
    ),
  ];
}

type Arrays = Pick<Trial, 'counts' | 'gradients'>;

function turnsOf({ name, venue, variant }: Caller, { places }: Selection, ranks: number, arrays: Arrays): Turn[] {
  return waysToCall(places).map(({ memory, place, words }) => {
    const work = { type: 'context', memory } as const;
    return turnOf(venue, {
      ...variant,
      ...arrays,
      suite,
      name: `${ofNetwork(arrays)}${name}${words}`,
      work,
      place,
      ranks,
    });
  });
}

function peerTurns({ peers, places }: Selection, ranks: number, arrays: Arrays): Turn[] {
  const fitting: readonly PeerName[] = [...peersOver['shared-memory'], ...pythonPeers];
  return peers
    .filter((peer) => fitting.includes(peer))
    .map((peer) => {
      const trials = places.map((place) => {
        const name = `${ofNetwork(arrays)}${nameOf(peer, 'still', place)}`;
        const work = { type: 'collective', kind: 'all-reduce' } as const;
        return trialOf({ ...arrays, suite, name, work, engine: 'peer', peer, place, ranks });
      });
      return { venue: peer, trials };
    });
}

function ofNetwork({ gradients }: Arrays): string {
  return gradients === undefined ? '' : `${gradients} `;
}

const callOf: Readonly<Record<Form, string>> = {
  sync: 'allReduceSync',
  async: 'allReduce',
  controller: 'allReduce',
};
