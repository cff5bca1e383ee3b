import { type CallMemory, callMemory, type Place } from '../trial.js';

/** The arrays of a call, and the words for them in the name of the case. */
export interface WayToCall {
  readonly memory: CallMemory;
  readonly place: Place;
  readonly words: string;
}

/**
 * All ways to call with outputs at these places. Ways without `into` have no place, and are measured with
 * the first place.
 */
export function waysToCall(places: readonly Place[]): WayToCall[] {
  return places.flatMap((place, index) =>
    callMemory
      .filter((memory) => index === 0 || memory === 'known' || memory === 'new')
      .map((memory) => ({ memory, place, words: wordsFor(memory, place) })),
  );
}

/** The words after the name of a call, for people. */
export function wordsFor(memory: CallMemory, place: Place): string {
  return place === 'out' && (memory === 'known' || memory === 'new') ? elsewhere[memory] : words[memory];
}

const words: Readonly<Record<CallMemory, string>> = {
  known: '',
  new: ' of new memory',
  result: ' into a new result',
  both: ' of new memory into a new result',
  alone: ': new memory alone',
  'both-alone': ': new memory and result alone',
};
const elsewhere: Readonly<Record<'known' | 'new', string>> = {
  known: ' into other memory',
  new: ' into new memory',
};

/** Sizes from one number to a large layer. */
export function sizesToCall(isQuick: boolean): readonly number[] {
  return isQuick ? [4, 65_536, 16 * 2 ** 20] : [4, 1024, 65_536, 2 ** 20, 16 * 2 ** 20];
}
