import { describe, expect, it } from 'vitest';
import { type AddonPlaces, findAddon } from './find-addon.js';

const addon = { interface: 3 };
const places: AddonPlaces = {
  variable: 'COLL_X_PATH',
  explicit: undefined,
  built: '/checkout/x.node',
  packageName: () => '@coll/x-linux',
  exists: () => false,
  resolve: (path) => `/here/${path}`,
  load: (name) => {
    throw Object.assign(new Error(`Cannot find module '${name}'\nRequire stack:`), { code: 'MODULE_NOT_FOUND' });
  },
};

/** Loads the addon from one place only. */
const loading = (present: string) => (name: string) => (name === present ? addon : places.load(name));

describe('findAddon', () => {
  it('loads the addon that the variable names, by its absolute path', () => {
    const found = findAddon({ ...places, explicit: 'x.node', exists: () => true, load: loading('/here/x.node') }, 3);
    expect(found).toEqual({ place: 'COLL_X_PATH=x.node', addon });
  });

  it('tries nothing else if the variable is set', () => {
    const found = findAddon({ ...places, explicit: 'x.node', load: loading('@coll/x-linux') }, 3);
    expect(found).toEqual({ place: 'COLL_X_PATH=x.node', failure: 'no such file', isMissing: true });
  });

  it('prefers the addon of a checkout over that of a package', () => {
    expect(findAddon({ ...places, exists: () => true, load: () => addon }, 3)).toEqual({ place: places.built, addon });
    expect(findAddon({ ...places, load: loading('@coll/x-linux') }, 3)).toEqual({ place: '@coll/x-linux', addon });
  });

  it('names the package to install if no addon is found', () => {
    const failure = 'not installed: npm install @coll/x-linux';
    expect(findAddon(places, 3)).toEqual({ place: '@coll/x-linux', failure, isMissing: true });
  });

  it('refuses an addon with another interface version', () => {
    const failure =
      'its interface version is 3, expected 4: install the same versions of both packages, or rebuild the addon';
    expect(findAddon({ ...places, load: () => addon }, 4)).toMatchObject({ failure, isMissing: false });
  });

  it('reports the first line of the error if an addon cannot be loaded', () => {
    const load = () => {
      throw new Error('wrong ELF class\nand more');
    };
    expect(findAddon({ ...places, load }, 3)).toMatchObject({ failure: 'wrong ELF class', isMissing: false });
  });
});
