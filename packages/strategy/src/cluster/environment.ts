/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Those of this process. */
export function processEnvironment(): Environment {
  return process.env;
}
