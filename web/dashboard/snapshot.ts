// What the server sends each second, as `Message` in edge/dashboard/events.rs has it. Sums are since the server began.

export interface Running { id: string; method: string; path: string; route: string; seconds: number }

export interface Worker {
  pid: number;
  alive: boolean;
  state: "starting" | "idle" | "busy" | "retiring";
  generation: number;
  /** by which routes name the pool that it is in; none where they name none */
  pool?: string;
  requests: number;
  errors: number;
  promises: number;
  busy: number;
  memory: number;
  age: number;
  runs: Running[];
  /** visitors' sessions; none when it has none */
  sessions?: Session[];
}

/** A visitor's session; times in seconds. */
export interface Session { client: string; age: number; idle: number }

export interface Route { route: string; requests: number; errors: number; seconds: number; duration: number[] }

export interface Figures {
  requests: number;
  by_status: Record<string, number>;
  open: number;
  streams: number;
  websockets: number;
  refusals: Record<string, number>;
  restarts: Record<string, number>;
  received: number;
  sent: number;
  bounds: number[];
  duration: number[];
  queue: number[];
  routes: Route[];
  memory: number;
}

export interface LoggedError {
  number: number;
  at: number;
  worker: number | null;
  request: string | null;
  message: string;
  calls: string[];
}

export interface Snapshot {
  connections: number;
  refused: number;
  waiting: number;
  max_queue: number;
  workers: Worker[];
  figures: Figures;
  errors: LoggedError[];
  /** jobs, by their states; none when there are none */
  jobs?: Record<string, number>;
  /** ids of failed requests that can be played again; none when none are kept */
  replayable?: string[];
}

/** A job; times are those of ISO 8601. */
export interface Job {
  id: string;
  state: "waiting" | "running" | "scheduled" | "done" | "failed" | "cancelled";
  kind: string;
  attempt: number;
  created: string;
  due?: string;
  began?: string;
  ended?: string;
  progress?: { done: number; total?: number; message?: string };
  error?: string;
}

export interface Message {
  version: string;
  pid: number;
  age: number;
  actions: boolean;
  snapshot: Snapshot;
  /** the latest, these first */
  jobs: Job[];
}
