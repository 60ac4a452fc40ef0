"""The engines that benches compare: ours and others, each a script that runs in a process of its own.

`python -m cli.bench.peers.<script>` in the checkout's root speaks JSON lines (protocol.py). Nothing here but the
`askbucket_*` scripts imports anything of Askbucket's beside the protocol, so that another engine runs in a virtual
environment that holds that engine alone.
"""
