package upkeep

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/text"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// DoctorRequest says how far Doctor may go.
type DoctorRequest struct {
	// Apply repairs what can be repaired. Default false: only look.
	Apply bool
	// Backup is where a copy of the file is put before anything is repaired, as Snapshot does it; it must not exist. Apply needs it.
	Backup string
}

// Diagnosis is what Doctor found and did.
type Diagnosis struct {
	Findings []Finding `json:"findings"`
	Backup   string    `json:"backup,omitempty"` // the copy that was made; empty: there was nothing to repair
	Repairs  []Repair  `json:"repairs,omitempty"`
	Left     []Finding `json:"left,omitempty"` // with Apply: what is still so afterwards
}

// Finding is one kind of fault, with all that have it.
type Finding struct {
	Fault    string   `json:"fault"`
	Count    int      `json:"count"`
	Subjects []string `json:"subjects"` // ids, numbers or names; at most twenty
	Means    string   `json:"means"`
	Remedy   string   `json:"remedy"`
	// Repairable says that Apply does something about it, although not always about all of it.
	Repairable bool `json:"repairable"`
	// Harmless says that the file does not contradict itself: something could only be better.
	Harmless bool `json:"harmless,omitempty"`

	remedy remedy
}

// Repair is a step that Doctor took.
type Repair struct {
	Step    string `json:"step"`
	Changed int    `json:"changed"` // rows, documents or summaries
	Error   string `json:"error,omitempty"`
}

// MostSubjects is how many subjects of a finding are named.
const MostSubjects = 20

// Doctor explains every fault that Check finds, fallback summaries and left files, and with Apply repairs them: counters from the bottom up, contexts,
// leftovers, the index, vectors, and the summaries that were made without the model. A copy of the file is made first, if there is anything
// to do. What it can't repair it says. Errors: ErrInvalid, ErrExists for the copy, ErrReadOnly with Apply.
func (u *Upkeep) Doctor(ctx context.Context, r DoctorRequest) (*Diagnosis, error) {
	d, err := u.doctor(ctx, r)
	if err != nil {
		return d, fmt.Errorf("doctor: %w", err)
	}
	return d, nil
}

func (u *Upkeep) doctor(ctx context.Context, r DoctorRequest) (*Diagnosis, error) {
	if r.Apply && strings.TrimSpace(r.Backup) == "" {
		return nil, fault.Invalid("backup", r.Backup, "with apply, the name of a new file")
	}
	d := &Diagnosis{}
	var err error
	if d.Findings, err = u.Findings(ctx); err != nil || !r.Apply {
		return d, err
	}
	d.Left = d.Findings
	if !slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Repairable }) {
		return d, nil
	}
	if err := u.Snapshot(ctx, r.Backup); err != nil {
		return d, err
	}
	d.Backup = r.Backup
	return d, u.Repair(ctx, d)
}

// Repair does what can be done about the findings, and finds what is left.
func (u *Upkeep) Repair(ctx context.Context, d *Diagnosis) (err error) {
	d.Left = d.Findings
	for _, step := range []struct {
		remedy remedy
		do     func(context.Context, *Diagnosis) error
	}{
		{tidying, u.repairRows}, {reindexing, u.repairIndex}, {embedding, u.repairVectors}, {sweeping, u.repairFiles}, {rewriting, u.repairFallbacks},
	} {
		asks := func(f Finding) bool { return f.Repairable && f.remedy == step.remedy }
		if !slices.ContainsFunc(d.Left, asks) { // an earlier step may have made it needless, or needed
			continue
		}
		if err := step.do(ctx, d); err != nil { // the next step may go all the same
			d.Repairs = append(d.Repairs, Repair{Error: err.Error()})
		}
		if d.Left, err = u.Findings(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Findings groups faults by what they are.
func (u *Upkeep) Findings(ctx context.Context) (all []Finding, err error) {
	faults, err := u.Check(ctx)
	if err != nil {
		return nil, err
	}
	err = u.file.Read(ctx, "fallbacks", func(c *duck.Conn) error {
		var since string
		found, err := u.file.Setting(ctx, c, index.PurgedSetting, &since)
		if err != nil {
			return err
		}
		if found && u.file.Held != nil {
			faults = append(faults, Fault{purgedFault, "since " + since})
		}
		var passages, undivided int
		if _, err := c.One(ctx, "stats_passages", []any{&passages, &undivided}); err != nil {
			return err
		}
		if undivided > 0 {
			faults = append(faults, Fault{undividedFault, fmt.Sprintf("%d documents", undivided)})
		}
		return c.Each(ctx, "doctor_fallbacks", func(rows *sql.Rows) error {
			f := Fault{Fault: fallbackFault}
			if err := rows.Scan(&f.Subject); err != nil {
				return err
			}
			faults = append(faults, f)
			return nil
		})
	})
	said := func(err error) bool { return len(faults) > 0 && errors.Is(err, fault.ErrCorrupt) } // that it can't be read
	if err != nil && !said(err) {
		return nil, err
	}
	files, err := u.contents.CheckPayloadFiles(ctx, false)
	if said(err) {
		files, err = &payload.Files{}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, path := range files.Orphans {
		faults = append(faults, Fault{orphanFault, path})
	}
	for _, fault := range faults {
		i := slices.IndexFunc(all, func(f Finding) bool { return f.Fault == fault.Fault })
		if i < 0 {
			x := ExplanationOf(fault.Fault)
			i = len(all)
			all = append(all, Finding{Fault: fault.Fault, Means: x.Means, Remedy: x.Says, Repairable: u.able(x.remedy), Harmless: slices.Contains([]string{fallbackFault, orphanFault, purgedFault, undividedFault}, x.fault), remedy: x.remedy})
		}
		if all[i].Count++; len(all[i].Subjects) < MostSubjects {
			all[i].Subjects = append(all[i].Subjects, fault.Subject)
		}
	}
	return all, nil
}

// able reports whether this engine has what a remedy needs.
func (u *Upkeep) able(r remedy) bool { return r != byHand && (r != rewriting || u.opts.LLM != nil) }

// note adds a step that changed something.
func (d *Diagnosis) note(step string, changed int64) {
	if changed > 0 {
		d.Repairs = append(d.Repairs, Repair{Step: step, Changed: int(changed)})
	}
}

// rowRepairs are the statements that put right what follows from other rows, in their order; each is run until it changes nothing, but at most
// so many times: levels of summaries are counted one by one.
var rowRepairs = [...]struct {
	what string
	do   func(ctx context.Context, tx *duck.Write) (changed int64, err error)
	most int
}{
	{"references", changedBy("doctor_references"), 1},
	{"summaries moved", changedBy("doctor_homes"), compact.MostDeep},
	{"context items moved", changedBy("doctor_items"), 1},
	{"leftovers", changedBy("doctor_leftovers"), 1},
	{"parts numbered", changedBy("doctor_parts"), 1},
	{"conversations", changedBy("doctor_conversations"), 1},
	{"sources", changedBy("doctor_lineage"), 1},
	{"messages not set aside", changedBy("doctor_aside"), 1},
	{"sources numbered", compact.NumberSources, 1},
	{"leaves counted", compact.CountLeaves, 1},
	{"summaries counted", compact.CountCondensed, compact.MostDeep},
	{"context items", conversation.MendContexts, 1},
	{"memories superseded", changedBy("doctor_superseded"), 1},
	{"retractions", changedBy("doctor_retractions"), 1},
	{"versions", changedBy("doctor_versions"), 8},
}

// changedBy gives what runs the statements of a name, and tells how many rows they changed.
func changedBy(name string) func(ctx context.Context, tx *duck.Write) (changed int64, err error) {
	return func(ctx context.Context, tx *duck.Write) (int64, error) {
		changed, err := tx.ChangedBy(ctx, sqlfiles.Query(name))
		if err != nil {
			return changed, duck.QueryError(name, err)
		}
		return changed, nil
	}
}

// repairRows puts right what follows from other rows, all in one transaction.
func (u *Upkeep) repairRows(ctx context.Context, d *Diagnosis) error {
	done := &Diagnosis{}
	err := u.file.Write(ctx, "rows", func(tx *duck.Write) error {
		u.index.NoteAll()
		changed, err := tx.Exec(ctx, "doctor_estimators", sql.Named("estimator", u.opts.Conversation.Estimator), sql.Named("known", text.Estimators()))
		if err != nil {
			return err
		}
		done.note("estimators", changed)
		counted, err := u.countTokens(ctx, tx)
		if err != nil {
			return err
		}
		done.note("messages counted", counted)
		for _, step := range rowRepairs {
			for range step.most {
				changed, err := step.do(ctx, tx)
				if err != nil {
					return err
				}
				if done.note(step.what, changed); changed == 0 {
					break
				}
			}
		}
		shown, err := showLost(ctx, tx)
		if err != nil {
			return err
		}
		done.note("summaries shown again", shown)
		archived, err := tx.Exec(ctx, "doctor_archive", sql.Named("at", u.file.Now()))
		done.note("conversations archived", archived)
		return err
	})
	if err == nil {
		d.Repairs = append(d.Repairs, done.Repairs...)
	}
	return err
}

// showLost puts lost summaries back into the context.
func showLost(ctx context.Context, tx *duck.Write) (int64, error) {
	var ids []string
	err := tx.Each(ctx, "check_lost_summaries", func(rows *sql.Rows) error {
		var fault, id string
		if err := rows.Scan(&fault, &id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return tx.Exec(ctx, "doctor_shown", sql.Named("ids", ids))
}

// countTokens counts messages that were not.
func (u *Upkeep) countTokens(ctx context.Context, tx *duck.Write) (counted int64, err error) {
	type uncounted struct{ id, conversation, estimator string }
	var all []uncounted
	all, err = duck.List(ctx, tx.Conn, "doctor_uncounted", func(rows *sql.Rows, u *uncounted) error {
		return rows.Scan(&u.id, &u.conversation, &u.estimator)
	})
	for _, u := range all {
		estimator, err := text.NewEstimator(u.estimator)
		if err != nil {
			return 0, fmt.Errorf("conversation %s: %w", u.conversation, err)
		}
		var m conversation.Message
		if _, err := tx.One(ctx, "doctor_said", []any{&m.Seq, &m.Text, duck.TextOf(&m.Caption)}, sql.Named("id", u.id)); err != nil {
			return 0, err
		}
		m.ID, m.ConversationID = u.id, u.conversation
		if err := conversation.FillBlocks(ctx, tx.Conn, []*conversation.Message{&m}); err != nil {
			return 0, err
		}
		m.Count(estimator)
		if _, err := tx.Exec(ctx, "doctor_count", sql.Named("id", u.id), sql.Named("tokens", m.Tokens)); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), err
}

// repairIndex makes the index anew.
func (u *Upkeep) repairIndex(ctx context.Context, d *Diagnosis) error {
	err := u.file.Write(ctx, "kinds", func(tx *duck.Write) error {
		u.index.NoteAll()
		_, err := tx.ChangedBy(ctx, sqlfiles.Query("doctor_kinds"))
		return err
	})
	if err != nil {
		return err
	}
	made, err := u.index.RebuildIndex(ctx, index.RebuildRequest{})
	d.note("documents indexed", int64(made.Documents+made.Past))
	d.note("vectors made", int64(made.Vectors+made.PastVectors))
	return err
}

// repairVectors deletes vectors that nothing may have, and makes those that are missing where the model is at hand.
func (u *Upkeep) repairVectors(ctx context.Context, d *Diagnosis) error {
	err := u.file.Write(ctx, "vectors", func(tx *duck.Write) error {
		u.index.NoteAll()
		for _, m := range u.index.All() {
			changed, err := tx.ChangedBy(ctx, strings.ReplaceAll(sqlfiles.Query("doctor_vectors"), "{table}", m.Table()))
			if d.note("vectors deleted", changed); err != nil {
				return err
			}
		}
		kept, err := tx.Exec(ctx, "doctor_embedding_cache")
		d.note("vectors deleted", kept)
		u.index.ForgetCache()
		return err
	})
	if err != nil || !u.index.Embedding() {
		return err
	}
	made, err := u.index.EmbedMissing(ctx)
	d.note("vectors made", int64(made.Vectors+made.PastVectors))
	return err
}

// repairFiles deletes what lies in the folder beside the file and belongs to nothing.
func (u *Upkeep) repairFiles(ctx context.Context, d *Diagnosis) error {
	files, err := u.contents.CheckPayloadFiles(ctx, true)
	if err == nil {
		d.note("files deleted", int64(len(files.Orphans)))
	}
	return err
}

// repairFallbacks asks the model again.
func (u *Upkeep) repairFallbacks(ctx context.Context, d *Diagnosis) error {
	made, err := u.compactor.RetryFallbacks(ctx, compact.RetryRequest{})
	d.note("summaries made anew", int64(len(made.Rewritten)))
	return cmp.Or(err, made.VectorErr)
}
