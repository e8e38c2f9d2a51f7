"""A simulated cluster: the rules of the gate and of the executor as a pure discrete-event engine.

``world``       plain objects: header, nodes, team queues, workloads; ``codec`` turns each into JSON and back
``commands``    what can be done to it; ``operations`` carries them out; ``engine`` is the way in
``state``       indexes over the world, its event heap and its change marks, all rebuilt from the objects
``quota``       cards held against nominal quota, ``holders`` by whom; ``placement`` cards given out on nodes
``admission``   admission cycles; ``preemption`` who has to leave; ``explain`` why somebody waits
``executor``    gangs onto nodes; ``lifecycle`` pods, exits, evictions; ``behaviour`` what a command does
``services``    replicas that answer to one name
``telemetry``   utilisation; ``logs`` lines in the words of ``messages``: functions of what is stored
``randomness``  every draw is a hash of (seed, object, purpose)

No clock, no store, no network: time moves only by ``Engine.run_to`` and by the commands' own times.
"""
