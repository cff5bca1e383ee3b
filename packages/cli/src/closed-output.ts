/** The exit code of a command whose output pipe was closed. */
const closedPipe = 141;

/** Ends this process if nobody reads its output any more, as after `coll trace | head`. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(closedPipe);
  });
}
