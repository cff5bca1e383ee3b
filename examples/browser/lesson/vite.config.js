// Pages with these headers may share memory between workers.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default {
  // Otherwise Vite finds the packages of the replicas when they start, and loads the page again.
  optimizeDeps: { entries: ['index.html', 'replica.ts'] },
  server: { headers },
  preview: { headers },
  worker: {
    format: 'es',
    // The strategy calls a function that the module of the replicas exports, which Vite would drop.
    plugins: () => [
      { name: 'keep-exports', options: (options) => ({ ...options, preserveEntrySignatures: 'exports-only' }) },
    ],
  },
};
