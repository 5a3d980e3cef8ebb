package arch

// A row says what one package may import of ours, and why no more. A name that
// ends in /* stands for every folder directly beneath it. A package that has no
// row fails the test, so that nothing is born unseen.
type row struct {
	pkg  string
	may  string
	why  string
	pure bool   // neither touches the world nor knows the time
	not  string // what it may not import besides
}

// stages is what the loop joins; they meet nowhere else.
const stages = "observe assess decide act report"

// clients are those of the outside that catalog hands to what it lists.
const clients = "sys/beads sys/ci sys/ci/* sys/docgraph sys/engine sys/files sys/forge sys/forge/* sys/git sys/host sys/httpcache sys/httpjson sys/judge sys/matrix sys/proc sys/program sys/shim sys/systemd sys/telegram"

func atlas() []row {
	return []row{
		{pkg: "internal/fleet", pure: true, why: "the words: everyone speaks them, they know no one"},
		{pkg: "internal/fleet/fleettest", may: "fleet", why: "random values of the words, for tests"},
		{pkg: "internal/recording", may: "fleet", pure: true, why: "what a plan follows from, as it is written down and read again"},
		{pkg: "internal/boundary", pure: true, why: "what the kernel is to keep an agent within, for who composes it and for the shim that enforces it: values in, values out"},
		{pkg: "internal/nearest", pure: true, why: "one guess of what was meant, for whoever reads what people write"},
		{pkg: "internal/brokentoml", pure: true, why: "what is wrong with a text that is no TOML, for whoever reads what people write"},
		{pkg: "internal/config", may: "fleet nearest brokentoml", why: "reads text, by the words for amounts; plug-in sections stay raw"},
		{pkg: "internal/api", why: "the published face knows nothing of the inside"},
		{pkg: "internal/schema", may: "api fleet", pure: true, why: "how what is written as JSON looks: the published face, a recording and a pass"},
		{pkg: "internal/client", may: "api schema", why: "what stands in for the daemon on a machine that is not watched: it knows that nothing is known", not: "os os/exec net"},
		{pkg: "internal/rules", may: "fleet nearest brokentoml", pure: true, why: "rules judge values"},
		{pkg: "internal/agent", may: "fleet nearest agent/conversation", pure: true, why: "kinds and states are data and one function; of a prompt, a call and a failure hooks tell in the words of conversations"},
		{pkg: "internal/agent/conversation", may: "fleet", pure: true, why: "the languages in which CLIs write their conversations, to a file or as output: lines in, entries out, and no kind is known"},
		{pkg: "internal/agent/price", may: "fleet", pure: true, why: "what responses cost is a table and one function"},
		{pkg: "internal/scenario", may: "fleet nearest agent", pure: true, why: "stories of what is seen and what is wanted are data: read, never played"},
		{pkg: "internal/formula", may: "fleet nearest brokentoml", pure: true, why: "formulas are data: read, checked, rendered, never run"},
		{pkg: "internal/policy", pure: true, why: "what speaks against a call of a tool is a verdict on values; custos-hook decides by it, so it stays small and knows no other word of ours"},
		{pkg: "internal/policy/source", may: "config nearest policy", why: "policies as people write them in custos.toml, and those that come with Custos: sections in, rules out"},
		{pkg: "internal/plugin", may: "nearest brokentoml", pure: true, why: "plugins are data: read and checked, never run"},
		{pkg: "internal/library", may: "fleet api config rules formula formulas plugin pin nearest ledger ledger/cron decide/follow/runs sys/git", why: "what was written down to be run, as read from disk, and whether a person trusts it; it knows no ledger file and runs nothing"},
		{pkg: "internal/pin", may: "fleet", pure: true, why: "compares what might be run with what a person said may be"},
		{pkg: "docs", why: "the pages for those who use Custos, embedded"},
		{pkg: "formulas", why: "the shipped formulas, embedded"},
		{pkg: "internal/session", may: "fleet", why: "a seam"},
		{pkg: "internal/agent/agenttest", may: "fleet agent agent/conversation sys/procstat", why: "starts the fake agent, for tests"},
		{pkg: "internal/agent/agenttest/fakeagent", may: "sys/procstat", why: "a scripted agent CLI, for tests"},
		{pkg: "internal/ledger", may: "fleet nearest rules ledger/cron", pure: true, why: "the legal changes of records"},
		{pkg: "internal/ledger/cron", may: "fleet", pure: true, why: "when a cron expression is due is a function of it and of a moment"},
		{pkg: "internal/ledger/allowance", may: "fleet ledger", pure: true, why: "what was spent means now, of each budget: values, by what the ledger knows of agents; no record of the ledger is changed by it"},
		{pkg: "internal/ledger/pools", may: "fleet", pure: true, why: "what several hosts have of a pool together, of what each knows: for a rule, and for who starts workers; no record is changed by it"},
		{pkg: "internal/lease", may: "fleet", pure: true, why: "who of several hosts may act on what they share: the seam to where leases are kept, and when one is asked for, renewed and given back"},
		{pkg: "internal/hub/member", may: "fleet api lease lease/hold lease/local lease/nats hub/ask hub/credential hub/looks hub/protocol hub/rows hub/wire", why: "a host's part in a hub: the daemon is handed what it knows of the others"},
		{pkg: "internal/lease/hold", may: "fleet lease", why: "keeps the leases of one host: asks a store what the pure part wants asked"},
		{pkg: "internal/lease/local", may: "fleet lease sys/files", why: "leases of the daemons of one machine, in a file that they share: SQLite, as store's own, but of several writers"},
		{pkg: "internal/lease/nats", may: "fleet lease", why: "leases of several hosts, in a bucket of NATS JetStream"},
		{pkg: "internal/lease/leasetest", may: "fleet lease", why: "what every store of leases must do, as a test"},
		{pkg: "internal/hookwire", may: "sys/procstat", why: "the wire between custos-hook and the daemon: besides who calls it, standard library only"},
		{pkg: "internal/caller", may: "fleet sys/netpeer sys/proc sys/shim", why: "which agent a process belongs to, by what the kernel tells of it, and of who has come by ssh from this machine, and what was seen of agents: so that none does what takes a person"},
		{pkg: "internal/asking", may: "fleet agent", pure: true, why: "what people are asked in chats is a text and a hash of it"},
		{pkg: "internal/conformance", why: "real agent CLIs against a mock model server, for tests"},
		{pkg: "internal/terminal", may: "fleet", pure: true, why: "what a terminal shows, and what changes from one picture to the next, as values: the page draws them, whoever took them"},
		{pkg: "internal/terminal/live", may: "terminal", why: "terminals are looked at once for all who look, and typed into by one person: what they stand on it is handed"},
		{pkg: "internal/session/*", may: "fleet session sys/files sys/proc sys/procstat sys/shim", why: "providers"},
		{pkg: "internal/sys/*", may: "sys/files sys/httpjson sys/procstat sys/program", why: "clients of the outside know nothing of Custos; they share one way to ask a server, one to read a process, one to open a file, and one to run a program"},
		{pkg: "internal/sys/forge/*", may: "sys/forge sys/httpjson", why: "kinds of forge: each a client that fits sys/forge; none knows another"},
		{pkg: "internal/sys/ci/*", may: "sys/ci", why: "kinds of CI system: each speaks by the client of sys/ci; none knows another"},
		{pkg: "internal/sys/forgetest", may: "sys/forge sys/forge/*", why: "a forge for tests, which says by which client it is spoken to"},
		{pkg: "internal/sys/citest", may: "sys/ci sys/ci/*", why: "a CI server for tests, which says by which client it is spoken to"},
		{pkg: "internal/sys/opencode", may: "sys/files", why: "reads the database in which opencode keeps its conversations, and never writes: besides store, the only SQL"},
		{pkg: "internal/sys/testreport", pure: true, why: "the languages in which tools report tests: beside the other clients, as the word of programs of others, and given what to read, so that it opens nothing"},
		{pkg: "internal/sys/judge/judgetest", why: "a scripted judge, for tests"},
		{pkg: "internal/store/backups", may: "sys/files", why: "copies of a database and putting one back: of what is in it they know the version of its schema, which SQLite keeps"},
		{pkg: "internal/store", may: "fleet sys/files store/backups", why: "the only SQL of Custos's own; fits the ports of others by shape; what it reads beside the database is opened as every file of ours"},
		{pkg: "internal/observe", may: "fleet", why: "stage 1"},
		{pkg: "internal/observe/*", may: "fleet observe session agent agent/conversation ledger sys/*", why: "probes look through Viewers and Readers"},
		{pkg: "internal/observe/installation", may: "fleet config agent hookwire report doctor service store sys/*", why: "looks at Custos's own installation, in the words in which doctor judges it: its configuration, its sockets, its database, its programs and its chats"},
		{pkg: "internal/assess", may: "fleet rules agent", pure: true, why: "stage 2"},
		{pkg: "internal/decide", may: "fleet ledger", pure: true, why: "stage 3; what is on record of a merge queue is the ledger's to say, for what is wished for and for what follows alike"},
		{pkg: "internal/decide/follow", may: "fleet ledger decide/follow/*", pure: true, why: "the plan's second half: what follows from records by itself, one noun after the other"},
		{pkg: "internal/decide/follow/*", may: "fleet ledger ledger/cron ledger/pools", pure: true, why: "movers: each says what becomes of one noun's records, by ledger's verbs; none knows another"},
		{pkg: "internal/act", may: "fleet", why: "stage 4"},
		{pkg: "internal/act/*", may: "fleet boundary act act/agentrun act/setaside session agent agent/conversation formula ledger policy sys/*", why: "actions: the only ones given Writers; those on agents share agentrun, those that set a file aside setaside"},
		{pkg: "internal/release", pure: true, why: "what a release consists of, and whether files are one, for who makes it and who installs it"},
		{pkg: "internal/report", may: "fleet", why: "stage 5"},
		{pkg: "internal/report/*", may: "fleet report sys/*", why: "notifiers"},
		{pkg: "internal/loop", may: "fleet ledger ledger/allowance ledger/pools decide/follow " + stages, why: "where the stages meet; the records of a pass become facts by ledger"},
		{pkg: "internal/view", may: "fleet api ledger", pure: true, why: "what is shown of looks and records: values in, values of the published face out"},
		{pkg: "internal/roles", may: "fleet api ledger", pure: true, why: "says what holds for the roles of custos.toml and what is doubtful with them: checks of settings, in the words of the published face"},
		{pkg: "internal/control", may: "fleet nearest api doctor ledger ledger/allowance roles view library formula plugin decide/follow/runs", why: "what people and agents may do, in the words of the published face, whoever carries it; the ledger says what is legal, and runs when a schedule is due next", not: "net net/http"},
		{pkg: "internal/simulate", may: "fleet nearest agent api assess config control ledger loop scenario store view", why: "plays stories: a loop without probes and actions, with a ledger of its own", not: "net os/exec"},
		{pkg: "internal/doctor", may: "fleet nearest api", pure: true, why: "says what is wrong with the installation: rules that are checks, and what is looked at on demand only; of what was gathered, in the words of the published face"},
		{pkg: "internal/server", may: "fleet nearest api control doctor ledger view hookwire recording schema", why: "HTTP over the ports it declares"},
		{pkg: "internal/catalog", may: "fleet nearest boundary config hookwire policy policy/source rules agent agent/price ledger ledger/cron session session/process session/tmux " + clients + " " + stages + " observe/* act/* report/*", why: "the one list of what is built in: it knows the folders that it lists, and the clients that they share"},
		{pkg: "internal/onewriter", may: "api config fleet sys/files sys/presence", why: "the lock of the one writer: who holds it, and who may not begin beside it"},
		{pkg: "internal/uninstall", may: "catalog config fleet onewriter sys/files sys/proc sys/shim", why: "what Custos made for itself goes without its daemon, its database, and the configuration of agents"},
		{pkg: "internal/daemon", may: "fleet onewriter config api policy rules release asking remote caller agent agent/price library nearest session sys/* store server control doctor observe/installation view hookwire ledger ledger/allowance hub/looks hub/member scenario simulate web catalog loop report/journal report/terminal observe/agents observe/spending observe/watch terminal terminal/live upgrade " + stages, why: "the composition root"},
		{pkg: "internal/release/releasetest", may: "release", why: "a release that is signed, for tests"},
		{pkg: "internal/upgrade", may: "api config fleet onewriter release store store/backups sys/files sys/presence sys/procstat sys/program sys/systemd", why: "exchanges the programs and puts them back, with the daemon and the ledger: a client of the API, but for what must go on where no daemon answers"},
		{pkg: "internal/mcp", may: "api", why: "what agents may say and ask, as a server of the Model Context Protocol: a client of the API as any other", not: "net net/http os/exec"},
		{pkg: "internal/web", may: "api terminal terminal/live", why: "the page: a client of the API as any other, but for terminals, which change ten times a second; and the guards in front of it; who may see it, and who is at the other end, it is told by ports"},
		{pkg: "internal/web/chromiumtest", why: "a real browser for tests of the page: it knows nothing of Custos"},
		{pkg: "internal/top", may: "api", why: "the live terminal screen: a client of the API as any other; its words are the command line's, which hands them to it", not: "net net/http"},
		{pkg: "internal/remote", may: "api config hub/protocol sys/program", why: "Custos on other machines and in other containers: the way of the API's client through ssh or to what is published, whose token is a secret, and which hosts there are"},
		{pkg: "internal/setup", pure: true, why: "what a first custos.toml says is made of a recording and of what a person chose: values in, values out"},
		{pkg: "internal/cli", may: "api client config daemon hub/command mcp nearest policy remote service service/command setup sys/engineproxy sys/reaper sys/settings top uninstall upgrade sys/logfile", why: "one file a command; all else through the API, but for what runs without a daemon: the proxy of an engine, and the half of a first process that buries; what was meant by a slip is nearest; a person's settings are changed by the person's own process"},
		{pkg: "internal/service", may: "fleet service/unit sys/files sys/program sys/settings sys/systemd", why: "has systemd keep the daemon running: the person's own process does, and undoes it"},
		{pkg: "internal/service/command", may: "api service sys/systemd", why: "custos service in words: cli hands it what it stands on"},
		{pkg: "internal/service/unit", pure: true, why: "the one text of the unit, for the page, the packages and who installs it"},
		{pkg: "internal/hub/protocol", pure: true, why: "what a hub and hosts agree on: names of buckets and subjects, messages as values"},
		{pkg: "internal/hub/credential", may: "hub/protocol", why: "who is who at a hub, what a host may do and signs: keys, tokens and the files of them; it speaks with nobody", not: "net net/http github.com/nats-io/nats.go github.com/nats-io/nats-server/v2/server"},
		{pkg: "internal/hub/folder", may: "hub/credential hub/protocol", why: "the folder of a node of a hub, made and read: the command line makes it, and links no server", not: "net/http github.com/nats-io/nats-server/v2/server"},
		{pkg: "internal/hub/wire", may: "hub/credential hub/protocol", why: "the way to a hub: a client of NATS", not: "github.com/nats-io/nats-server/v2/server"},
		{pkg: "internal/hub/ask", may: "api hub/protocol", why: "how hosts ask each other over a hub: HTTP in messages; who asks it is told by whoever composes it", not: "github.com/nats-io/nats-server/v2/server"},
		{pkg: "internal/hub/rows", may: "hub/protocol", why: "what hosts tell of themselves, as rows of a bucket: it knows no word of what they tell", not: "github.com/nats-io/nats-server/v2/server"},
		{pkg: "internal/hub/looks", may: "api fleet hub/rows", pure: true, why: "what a host shows of itself, as rows of a hub, and what another one makes of them"},
		{pkg: "internal/hub/command", may: "api fleet hub/credential hub/folder hub/protocol hub/wire", why: "custos hub and custos join in words, with times as they are written everywhere: cli hands it what it stands on; the server is another program", not: "github.com/nats-io/nats-server/v2/server"},
		{pkg: "internal/hub", may: "hub/credential hub/folder hub/protocol hub/rows", why: "a node of a hub, which makes the bucket of rows as rows says: the server of NATS is embedded here, and custos links it nowhere"},
		{pkg: "internal/hub/hubtest", may: "hub hub/credential hub/folder hub/protocol hub/wire", why: "hubs for tests, in the process or as processes"},
		{pkg: "internal/hub/chaos", why: "a test of hosts and a hub under faults: its tests alone import anything"},
		{pkg: "internal/arch", why: "this"},
		{pkg: "cmd/custos", may: "cli", why: "calls cli, exits"},
		{pkg: "cmd/custos-hook", may: "hookwire policy", why: "what agents' hooks call: small and quick; it judges by itself, as no daemon need run"},
		{pkg: "cmd/custos-hub", may: "hub", why: "calls hub, ends"},
		{pkg: "cmd/custos-release", may: "cli config docs release service/unit", why: "makes a release, and is in none: man pages and completions of the command line, the pages, an example"},
		{pkg: "cmd/custos-shim", may: "boundary sys/procstat", why: "parent of each agent of ours: outlives the daemon, so it shares nothing with it but how the kernel tells of a process, and how a boundary is written down, which it enforces"},
	}
}

// worldly is what a pure package may not import.
var worldly = []string{"os", "os/exec", "os/signal", "net", "net/http", "database/sql", "log", "log/slog",
	"math/rand", "math/rand/v2", "crypto/rand", "syscall", "io/ioutil", "golang.org/x/sys/unix"}

// clocks are the functions of package time that a pure package may not use.
var clocks = []string{"Now", "Since", "Until", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc", "Sleep"}

// writers are what a probe may not even name: the halves of the clients that
// change the world.
var writers = map[string][]string{
	"session": {"Provider"},
	"proc":    {"Open", "Handle"},
	"git":     {"Writer", "NewWriter"},
	"forge":   {"Writer", "NewWriter", "Changer", "Repository", "Kind"},
	"engine":  {"Writer", "NewWriter"},
	"ci":      {"Writer", "NewWriter", "Doer", "System", "Kind"},
	"shim":    {"Prepare", "Void", "Clear", "Turns"},
	"systemd": {"Writer", "NewWriter"},
	"service": {"New", "Service"},
}
