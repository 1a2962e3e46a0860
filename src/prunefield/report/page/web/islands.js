// Islands: the data in the file, unpacked when they are needed (`packing.py` says how they are packed).

const TYPES = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array,
  int32: Int32Array, float32: Float32Array, float64: Float64Array,
};
const EDGE = 8;
const unpacked = new Map();

/** The island of this name, or null if there is none. Parts of the file that are still being read are waited for. */
function readIsland(name) {
  if (!unpacked.has(name)) unpacked.set(name, unpackIsland(name));
  return unpacked.get(name);
}

/** Reads islands for a view: null once a later one was asked for or the view was left. */
function makeReader() {
  let latest = null;
  async function read(name) {
    const token = latest = {};
    const data = await readIsland(name);
    return token === latest ? data : null;
  }
  return { read, stop: () => { latest = null; } };
}

async function unpackIsland(name) {
  const find = () => document.querySelector(`script[data-island="${CSS.escape(name)}"]`);
  if (!find()?.nextSibling && document.readyState === "loading") { // not there, or only its beginning
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  }
  const node = find();
  if (!node) return null;
  const bytes = decodeBase64(node.textContent);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const start = Math.ceil((4 + length) / EDGE) * EDGE;
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return JSON.parse(text, (_, value) => (value && value.array ? viewArray(value, buffer, start) : value));
}

function viewArray(description, buffer, start) {
  const size = description.shape.reduce((product, number) => product * number, 1);
  const array = new TYPES[description.array](buffer, start + description.at, size);
  array.shape = description.shape;
  return array;
}

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let place = 0; place < raw.length; place += 1) bytes[place] = raw.charCodeAt(place);
  return bytes;
}
