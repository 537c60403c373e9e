//! Short requests and long ones.

use super::*;
use crate::generation::Line;
use crate::pool::Express;

const SHORT: u32 = 0;
const LONG: u32 = 1;

/// Workers of an app with a route that takes a millisecond, and one that takes a second.
struct World {
    dispatcher: Dispatcher,
    pool: Pool,
    events: UnboundedReceiver<PoolEvent>,
    workers: Vec<Fake>,
}

impl World {
    fn new(n: u32, express: Express) -> World {
        let (mut dispatcher, pool) = dispatcher();
        pool.set_express(0, express);
        let workers = (1..=n).map(|id| Fake::sit(&mut dispatcher, id)).collect();
        for (route, micros) in [(SHORT, 1_000), (LONG, 1_000_000)] {
            dispatcher.paces(Crew { generation: 1, pool: 0 }, |paces| paces.took(route, micros));
        }
        let events = pool.events().unwrap();
        World { dispatcher, pool, events, workers }
    }

    /// A request on a connection of its own, whose message is the route.
    fn ask(&mut self, route: u32) -> Key {
        self.dispatcher.shared.outstanding.fetch_add(1, Relaxed);
        let submission =
            Submission { route, from: Origin { client: 1, connection: self.pool.waiting() as u64 }, ..of(0, 1) };
        self.dispatcher.submit(submission, |message| message.push(route as u8))
    }

    /// The route of what a worker was given and begins with.
    fn begin(&mut self, worker: usize) -> Option<(RequestId, u32)> {
        let (id, message) = self.workers[worker].receive()?;
        assert!(self.workers[worker].end.slots.start(id));
        Some((id, message[0].into()))
    }

    fn begin_all(&mut self) -> Vec<Option<u32>> {
        (0..self.workers.len()).map(|worker| self.begin(worker).map(|(_, route)| route)).collect()
    }

    fn answer(&mut self, worker: usize, id: RequestId, micros: u32) {
        self.workers[worker].answer(id, micros);
        self.dispatcher.drain();
    }

    /// What one worker is given, one after the other, until nothing waits.
    fn serve(&mut self) -> Vec<u32> {
        let mut routes = Vec::new();
        while let Some((id, route)) = self.begin(0) {
            routes.push(route);
            self.answer(0, id, if route == LONG { 1_000_000 } else { 1_000 });
        }
        routes
    }
}

#[tokio::test(flavor = "current_thread")]
async fn short_ones_and_long_ones_take_turns() {
    let mut world = World::new(1, Express::Turns);
    for route in [LONG, LONG, LONG, LONG, SHORT, LONG, SHORT] {
        world.ask(route);
    }
    let turns = world.serve();
    // what takes a millisecond may be handed on behind another
    let place = |route: u32, n: usize| turns.iter().enumerate().filter(|(_, r)| **r == route).nth(n).unwrap().0;
    assert!(place(SHORT, 0) <= 2, "behind the one that runs, and one more: {turns:?}");
    assert!(place(LONG, 2) <= 4, "long ones have every second turn: {turns:?}");
    assert_eq!(turns.len(), 7);
}

#[tokio::test(flavor = "current_thread")]
async fn all_wait_in_one_line_where_none_may_pass() {
    let mut world = World::new(1, Express::Off);
    for route in [LONG, LONG, SHORT, LONG] {
        world.ask(route);
    }
    assert_eq!(world.serve(), [LONG, LONG, SHORT, LONG]);
    assert_eq!(world.pool.passed(0), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn one_worker_is_kept_from_long_ones_where_there_is_one_more() {
    let mut world = World::new(3, Express::Beside(2));
    for _ in 0..4 {
        world.ask(LONG);
    }
    let mut begun = world.begin_all();
    begun.sort();
    assert_eq!((begun, world.pool.waiting()), (vec![None, Some(LONG), Some(LONG)], 2));
    assert!(!world.dispatcher.stalls());
    // each short one has the third worker at once
    for n in 1..4 {
        world.ask(SHORT);
        let begun: Vec<_> = (0..3).filter_map(|worker| Some((worker, world.begin(worker)?))).collect();
        let [(worker, (id, SHORT))] = begun[..] else { panic!("{begun:?}") };
        assert_eq!((world.pool.passed(0), world.pool.waiting()), (n, 2));
        world.answer(worker, id, 1_000);
    }
    assert_eq!(world.begin_all(), [None; 3], "no long one has it");
}

#[tokio::test(flavor = "current_thread")]
async fn long_ones_have_all_workers_where_there_is_none_more() {
    // one of three has ended
    let mut world = World::new(2, Express::Beside(2));
    for _ in 0..3 {
        world.ask(LONG);
    }
    assert_eq!(world.begin_all(), [Some(LONG); 2]);
}

#[tokio::test(flavor = "current_thread")]
async fn one_more_is_wanted_when_a_short_one_waits_behind_long_ones_only() {
    let mut world = World::new(2, Express::Possible);
    // so long after the long ones began, and the short one came
    let wants = |world: &mut World, began: u64, came: u64| {
        let clock = Instant::now() + Duration::from_millis(began);
        world.dispatcher.wants_express(0, 1_000 + came, Duration::from_millis(5), clock)
    };
    exchange::set_now(1_000);
    world.ask(LONG);
    world.ask(LONG);
    world.begin_all();
    world.ask(LONG);
    assert!(!wants(&mut world, 900, 900), "no short one waits");
    world.ask(SHORT);
    assert!(!wants(&mut world, 900, 4), "it has not waited for long");
    assert!(!wants(&mut world, 100, 100), "they may be over soon");
    assert!(wants(&mut world, 900, 5));
    world.pool.set_express(0, Express::Turns);
    assert!(!wants(&mut world, 900, 5), "there may be none");
}

#[tokio::test(flavor = "current_thread")]
async fn one_more_is_wanted_once_it_is_seen() {
    let mut world = World::new(1, Express::Possible);
    let told = |world: &mut World| std::iter::from_fn(|| world.events.try_recv().ok()).collect::<Vec<_>>();
    exchange::set_now(1_000);
    // it is not known what these take
    world.ask(7);
    world.begin_all();
    world.ask(SHORT);
    exchange::set_now(1_100);
    world.dispatcher.look();
    assert!(told(&mut world).is_empty(), "its worker has only begun");
    std::thread::sleep(2 * Duration::from_micros(world.dispatcher.generations[0].paces.most().into()));
    world.dispatcher.look();
    assert_eq!(told(&mut world), [PoolEvent::ShortWaits(0)]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_goes_on_answering_is_at_no_long_one() {
    let mut world = World::new(1, Express::Possible);
    exchange::set_now(1_000);
    for _ in 0..9 {
        world.ask(SHORT);
    }
    let wants = |world: &mut World, clock| world.dispatcher.wants_express(0, 2_000, Duration::from_millis(5), clock);
    let (id, _) = world.begin(0).unwrap();
    let began = Instant::now();
    world.answer(0, id, 1_000);
    world.begin(0).unwrap();
    assert!(!wants(&mut world, began + Duration::from_millis(400)), "it has begun another since, and that is short");
    assert!(wants(&mut world, began + Duration::from_secs(2)));
}

#[tokio::test(flavor = "current_thread")]
async fn a_route_that_was_never_called_passes_once() {
    let mut world = World::new(2, Express::Beside(1));
    world.ask(LONG);
    world.begin_all();
    let new = [world.ask(7), world.ask(7)];
    let served = world.begin_all();
    assert_eq!(served.into_iter().flatten().collect::<Vec<_>>(), [7]);
    // it may be long: the next one of it waits, and so does what is known to be
    world.ask(LONG);
    let line = |world: &mut World, key| {
        let submission = world.dispatcher.entries.get(key).unwrap().submission;
        world.dispatcher.line(&submission)
    };
    assert_eq!(line(&mut world, new[1]), Line::Of(Runs::R));
    assert_eq!((world.begin_all(), world.pool.waiting()), (vec![None, None], 2));
}
