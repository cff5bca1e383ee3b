import { CheckedStore } from '../src/checked-store.js';

const never = new Promise<never>(() => {});

/** A double of a store whose server is stopped or cut off: it takes everything, and never answers. */
export class SilentStore extends CheckedStore {
  protected write(): Promise<never> {
    return never;
  }

  protected read(): Promise<never> {
    return never;
  }

  protected raise(): Promise<never> {
    return never;
  }

  protected exchange(): Promise<never> {
    return never;
  }

  protected erase(): Promise<never> {
    return never;
  }
}
