// Serves everything of the page: with the headers that make it cross-origin isolated, which many static hosts cannot
// send, and from a cache if there is no network.
const worker = globalThis;
const cacheName = 'coll-digits';

worker.addEventListener('install', () => worker.skipWaiting());
worker.addEventListener('activate', (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  if (method === 'GET' && new URL(url).origin === worker.location.origin) event.respondWith(answer(event.request));
});

async function answer(request) {
  const cache = await caches.open(cacheName);
  try {
    const response = isolated(await fetch(request));
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const cached = await cache.match(request);
    if (cached) return cached;
    throw error;
  }
}

function isolated(response) {
  const { body, status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
  return new Response(body, { status, statusText, headers });
}
