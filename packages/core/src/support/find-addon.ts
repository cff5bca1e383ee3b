/** What the addons of this repository's packages have in common. */
export interface Addon {
  /** The version of its exports. An addon with another version than expected is refused. */
  readonly interface: number;
}

/** Where to search for an addon, and how. The functions are those of Node.js, which this package does not import. */
export interface AddonPlaces {
  /** Name of the environment variable that names an addon. */
  readonly variable: string;
  /** The value of this variable; if it is set, no other location is searched. */
  readonly explicit: string | undefined;
  /** The addon that `npm run build` makes in a checkout. */
  readonly built: string;
  /**
   * Name of the package with the addon for this platform. A function, because finding it may take
   * milliseconds.
   */
  readonly packageName: () => string;
  readonly exists: (path: string) => boolean;
  /** Makes a path absolute. */
  readonly resolve: (path: string) => string;
  readonly load: (nameOrPath: string) => unknown;
}

/** The loaded addon, or why it was not loaded from the place that was searched. */
export type AddonSearch<A extends Addon> = { readonly place: string } & (
  | { readonly addon: A }
  | { readonly failure: string; readonly isMissing: boolean }
);

/**
 * Searches for an addon at the location that the environment names, in a checkout's build folder
 * and in the package for this platform. Only the first of these that exists is tried. Never throws.
 */
export function findAddon<A extends Addon>(places: AddonPlaces, wantedInterface: number): AddonSearch<A> {
  const { variable, explicit, built, packageName, exists, resolve, load } = places;
  const loadFrom = (place: string, nameOrPath = place): AddonSearch<A> => {
    try {
      const addon = load(nameOrPath) as A;
      if (addon.interface === wantedInterface) return { place, addon };
      const message = `its interface version is ${addon.interface}, expected ${wantedInterface}`;
      const advice = 'install the same versions of both packages, or rebuild the addon';
      return { place, failure: `${message}: ${advice}`, isMissing: false };
    } catch (error) {
      return { place, ...reasonOf(error, nameOrPath) };
    }
  };
  if (explicit !== undefined) return loadFrom(`${variable}=${explicit}`, resolve(explicit));
  return loadFrom(exists(built) ? built : packageName());
}

function reasonOf(error: unknown, nameOrPath: string): { readonly failure: string; readonly isMissing: boolean } {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  // Only if the module itself is missing: one that exists but lacks a dependency reports its own
  // error.
  const isMissing = code === 'MODULE_NOT_FOUND' && message?.includes(`'${nameOrPath}'`) === true;
  const missing = nameOrPath.startsWith('@') ? `not installed: npm install ${nameOrPath}` : 'no such file';
  const [why] = (message ?? String(error)).split('\n', 1) as [string];
  return isMissing ? { failure: missing, isMissing } : { failure: why, isMissing: false };
}
