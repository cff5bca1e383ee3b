import { type GradientSet, gradientLengths } from '../gradients.js';
import { type PeerName, peersOver, pythonPeers, type Transport } from '../peers/peers.js';
import { bytesPerElement } from '../sizes.js';
import type { Form, Piece, Session, Trial, Turn, VenueName } from '../trial.js';
import { nameOf, networksOf, type Player, playersOf, venueFor, yardsticks } from './players.js';
import type { Selection } from './selection.js';
import { sizesToCall, waysToCall } from './ways-to-call.js';

const suite = 'strategy';

/**
 * All-reduce through the contexts of a strategy's replicas, which are threads of their own, functions in one thread, or processes:
 * of one array, beside the communicators below, and of the gradients of networks, which are one list.
 */
export function strategy(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? sizesToCall(selection.isQuick);
  // Sizes alone ask for no networks.
  const networks = selection.bytes !== undefined && selection.networks === undefined ? [] : networksOf(selection);
  return [
    { label: suite, ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) },
    ...networks.map((set) => ({
      label: `${suite}, gradients of ${set}`,
      ranks,
      pieces: [gradientsPiece(selection, ranks, set)],
    })),
  ];
}

/** How replicas are called. */
interface Caller {
  readonly name: string;
  readonly venue: VenueName;
  /** What the communicator below is called in. */
  readonly below: VenueName;
  readonly variant: Player & { readonly transport?: Transport };
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  const counts = [bytes / bytesPerElement];
  const turns = callersOf(selection).flatMap((caller): Turn[] => {
    const { variant, name, below } = caller;
    const communicator: Trial = {
      ...variant,
      ...(variant.transport === undefined ? {} : { memory: 'ordinary' }),
      suite,
      name: `communicator ${name.split(' ').slice(1).join(' ')}`,
      work: { type: 'collective', kind: 'all-reduce' },
      input: 'still',
      place: 'in',
      ranks,
      counts,
    };
    return [{ venue: below, trials: [communicator] }, ...turnsOf(caller, selection, ranks, { counts })];
  });
  return [
    ...yardsticks(suite, ranks, bytes, { ...selection, inputs: ['still'] }),
    ...turns,
    ...peerTurns(selection, ranks, { counts }),
  ];
}

function gradientsPiece(selection: Selection, ranks: number, set: GradientSet): Piece {
  const lists = { counts: gradientLengths(set), gradients: set };
  const bytes = lists.counts.reduce((sum, length) => sum + length, 0) * bytesPerElement;
  const turns = callersOf({ ...selection, forms: selection.forms ?? ['sync'] })
    .filter(({ variant }) => variant.transport === undefined)
    .flatMap((caller) => turnsOf(caller, { ...selection, places: ['in'] }, ranks, lists));
  const theirs = peerTurns({ ...selection, places: ['in'] }, ranks, lists);
  return [...yardsticks(suite, ranks, bytes, { ...selection, inputs: ['still'] }), ...turns, ...theirs];
}

/** Replicas in threads, in one thread, and in processes, which have a strategy that chooses its algorithms itself. */
function callersOf(selection: Selection): Caller[] {
  const players = playersOf(selection);
  const processes = players.filter(
    ({ engine, form, algorithm }) =>
      engine === 'native' && form !== 'controller' && algorithm === selection.algorithms[0],
  );
  return [
    ...players.map((player) => ({
      name: `${callOf[player.form]} ${player.algorithm}`,
      venue: player.form === 'controller' ? ('main-thread' as const) : ('replica-threads' as const),
      below: venueFor(player.form),
      variant: player,
    })),
    ...selection.transports.flatMap((transport) =>
      processes.map((player) => ({
        name: `${callOf[player.form]} over ${transport}`,
        venue: 'rank-processes' as const,
        below: 'rank-processes' as const,
        variant: { ...player, transport },
      })),
    ),
  ];
}

type Arrays = Pick<Trial, 'counts' | 'gradients'>;

function turnsOf({ name, venue, variant }: Caller, { places }: Selection, ranks: number, arrays: Arrays): Turn[] {
  return waysToCall(places).map(({ memory, place, words }): Turn => {
    const trial: Trial = {
      ...variant,
      ...arrays,
      suite,
      name: `${ofNetwork(arrays)}${name}${words}`,
      work: { type: 'context', memory },
      input: 'still',
      place,
      ranks,
    };
    return { venue, trials: [trial] };
  });
}

function peerTurns({ peers, places }: Selection, ranks: number, arrays: Arrays): Turn[] {
  const fitting: readonly PeerName[] = [...peersOver['shared-memory'], ...pythonPeers];
  const shown = peers.filter((peer) => fitting.includes(peer));
  return shown.map((peer): Turn => {
    const trials = places.map(
      (place): Trial => ({
        ...arrays,
        suite,
        name: `${ofNetwork(arrays)}${nameOf(peer, 'still', place)}`,
        work: { type: 'collective', kind: 'all-reduce' },
        engine: 'peer',
        peer,
        input: 'still',
        place,
        ranks,
      }),
    );
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
