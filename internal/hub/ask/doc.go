// Package ask carries HTTP between two hosts that share an account of a hub (NATS): a Transport
// asks another host, and Serve answers for this one. What is asked and answered is the API, as at
// the socket of a daemon.
//
// Host FROM publishes to custos.ask.TO.FROM, where host TO listens: the hub lets FROM publish under
// its own name only. There are three calls: ask (a question: method, path, headers, a body), go
// (send on) and cancel (nobody waits any more). Each call names in its reply subject, below
// _INBOX_FROM, where the answer goes from now on.
//
// An answer is parts, numbered from 0: part 0 has status and headers, the last one says that it is
// the last. A part that is missing, twice there or out of order ends the answer with an error, so
// that what was read is never cut or mixed without a word. Between parts the answering side says
// every beat that it is alive, and which part comes next; the asking side says go every beat.
//
// Who answers waits, and not who asks: a part may be sent only when its number is below the one that
// the asker has allowed (a window of at most 16 parts of 64 KiB, allowed anew as they are read).
// A reader that is slow so has at most its window in memory, holds up its own handler and nobody
// else's: nothing waits in the callbacks of the connection. That the connection itself was held up
// instead would stop all that goes over it, and dropping parts would end long answers.
//
// Every call has a reply subject of its own, and parts go to the newest. The right to answer that a
// hub gives by allow_responses (nats-server v2.15.2, server/client.go responseAllowed: so many
// messages, so long, for each reply subject) has so to last for one window and a few beats only,
// however long an answer is: at most the window, and one part that says alive a beat until the asker
// is given up (16 + 5 with the beats here), and no longer than 4 beats and a quarter (13 s). What this package needs is
// allow_responses with max 64 and expires 1m, and a max_payload of 2 MiB for questions with bodies of
// 1 MiB (the default of 1 MiB, server/const.go MAX_PAYLOAD_SIZE, takes bodies of less).
//
// A message is one line of JSON, its head, and the bytes after it. The signature that is handed in
// covers the subject and the whole message as it is sent: nothing is written anew to be checked, so
// there is one form only. Calls of go and cancel are not signed: whoever can forge them, the hub,
// can cut an answer off anyway, and a host can only do so under its own name.
//
// Each message says the version of its form. A host reads those that are one apart from its own, so
// that a change must be such that the version before can read it; fields that it does not know
// are passed over.
//
// Nothing is asked twice by itself. A question that nobody got is ErrNotThere or ErrNoHub; one that
// was sent and to which no head came is ErrInDoubt.
package ask
