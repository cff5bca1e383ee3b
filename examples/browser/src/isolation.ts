/**
 * Has the service worker serve this page, which isolates it and keeps it for times without a network. The first visit
 * reloads the page once.
 * @returns whether workers may share memory
 */
export async function isolatePage(): Promise<boolean> {
  // The development server, which has this field, sends the headers itself, and must not be cached.
  if (import.meta.hot || !('serviceWorker' in navigator)) return crossOriginIsolated;
  // What the first visit has loaded before the service worker began came from the network, and is not kept.
  const isServed = navigator.serviceWorker.controller !== null;
  try {
    await navigator.serviceWorker.register('./service-worker.js');
    await navigator.serviceWorker.ready;
  } catch (error) {
    console.warn(`no service worker, so that the page needs its headers and the network: ${error}`);
    return crossOriginIsolated;
  }
  if (isServed || sessionStorage.getItem('reloaded')) {
    sessionStorage.removeItem('reloaded');
    return crossOriginIsolated;
  }
  sessionStorage.setItem('reloaded', 'yes');
  location.reload();
  return new Promise(() => {});
}

/** Loads what only workers need, so that it is there without a network, too. */
export async function keepForOffline(urls: readonly (string | URL)[]): Promise<void> {
  await Promise.all(urls.map((url) => fetch(url)));
}
