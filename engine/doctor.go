package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
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

// mostSubjects is how many subjects of a finding are named.
const mostSubjects = 20

// Doctor explains every fault that Check finds, fallback summaries and left files, and with Apply repairs them: counters from the bottom up, contexts,
// leftovers, the index, vectors, and the summaries that were made without the model. A copy of the file is made first, if there is anything
// to do. What it can't repair it says. Errors: ErrInvalid, ErrExists for the copy, ErrReadOnly with Apply.
func (e *Engine) Doctor(ctx context.Context, r DoctorRequest) (*Diagnosis, error) {
	d, err := e.doctor(ctx, r)
	if err != nil {
		return d, fmt.Errorf("doctor: %w", err)
	}
	return d, nil
}

func (e *Engine) doctor(ctx context.Context, r DoctorRequest) (*Diagnosis, error) {
	if r.Apply && strings.TrimSpace(r.Backup) == "" {
		return nil, fault.Invalid("backup", r.Backup, "with apply, the name of a new file")
	}
	d := &Diagnosis{}
	var err error
	if d.Findings, err = e.findings(ctx); err != nil || !r.Apply {
		return d, err
	}
	d.Left = d.Findings
	if !slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Repairable }) {
		return d, nil
	}
	if err := e.Snapshot(ctx, r.Backup); err != nil {
		return d, err
	}
	d.Backup = r.Backup
	return d, e.repair(ctx, d)
}

// repair does what can be done about the findings, and finds what is left.
func (e *Engine) repair(ctx context.Context, d *Diagnosis) (err error) {
	d.Left = d.Findings
	for _, step := range []struct {
		remedy remedy
		do     func(context.Context, *Diagnosis) error
	}{
		{tidying, e.repairRows}, {reindexing, e.repairIndex}, {embedding, e.repairVectors}, {sweeping, e.repairFiles}, {rewriting, e.repairFallbacks},
	} {
		asks := func(f Finding) bool { return f.Repairable && f.remedy == step.remedy }
		if !slices.ContainsFunc(d.Left, asks) { // an earlier step may have made it needless, or needed
			continue
		}
		if err := step.do(ctx, d); err != nil { // the next step may go all the same
			d.Repairs = append(d.Repairs, Repair{Error: err.Error()})
		}
		if d.Left, err = e.findings(ctx); err != nil {
			return err
		}
	}
	return nil
}

// findings groups faults by what they are.
func (e *Engine) findings(ctx context.Context) (all []Finding, err error) {
	faults, err := e.Check(ctx)
	if err != nil {
		return nil, err
	}
	err = e.read(ctx, "fallbacks", func(c *connection) error {
		var since string
		found, err := e.setting(ctx, c, purgedSetting, &since)
		if err != nil {
			return err
		}
		if found && e.held != nil {
			faults = append(faults, Fault{purgedFault, "since " + since})
		}
		return c.each(ctx, "doctor_fallbacks", func(rows *sql.Rows) error {
			f := Fault{Fault: fallbackFault}
			defer func() { faults = append(faults, f) }()
			return rows.Scan(&f.Subject)
		})
	})
	said := func(err error) bool { return len(faults) > 0 && errors.Is(err, ErrCorrupt) } // that it can't be read
	if err != nil && !said(err) {
		return nil, err
	}
	files, err := e.CheckPayloadFiles(ctx, false)
	if said(err) {
		files, err = &PayloadFiles{}, nil
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
			x := explanationOf(fault.Fault)
			i = len(all)
			all = append(all, Finding{Fault: fault.Fault, Means: x.means, Remedy: x.says, Repairable: e.able(x.remedy), Harmless: slices.Contains([]string{fallbackFault, orphanFault, purgedFault}, x.fault), remedy: x.remedy})
		}
		if all[i].Count++; len(all[i].Subjects) < mostSubjects {
			all[i].Subjects = append(all[i].Subjects, fault.Subject)
		}
	}
	return all, nil
}

// able reports whether this engine has what a remedy needs.
func (e *Engine) able(r remedy) bool { return r != byHand && (r != rewriting || e.opts.LLM != nil) }

// note adds a step that changed something.
func (d *Diagnosis) note(step string, changed int64) {
	if changed > 0 {
		d.Repairs = append(d.Repairs, Repair{Step: step, Changed: int(changed)})
	}
}

// rowRepairs are the statements that put right what follows from other rows, in their order; each is run until it changes nothing, but at most
// so many times: levels of summaries are counted one by one.
var rowRepairs = [...]struct {
	what, query string
	most        int
}{
	{"references", "doctor_references", 1}, {"summaries moved", "doctor_homes", mostDeep}, {"context items moved", "doctor_items", 1},
	{"leftovers", "doctor_leftovers", 1}, {"parts numbered", "doctor_parts", 1}, {"conversations", "doctor_conversations", 1},
	{"sources", "doctor_lineage", 1}, {"messages not set aside", "doctor_aside", 1},
	{"sources numbered", "doctor_sources", 1}, {"leaves counted", "doctor_leaves", 1},
	{"summaries counted", "doctor_condensed", mostDeep}, {"context items", "doctor_context", 1}, {"memories superseded", "doctor_superseded", 1},
}

// repairRows puts right what follows from other rows, all in one transaction.
func (e *Engine) repairRows(ctx context.Context, d *Diagnosis) error {
	done := &Diagnosis{}
	err := e.write(ctx, "rows", func(c *connection) error {
		changed, err := c.exec(ctx, "doctor_estimators", sql.Named("estimator", e.opts.Conversation.Estimator), sql.Named("known", text.Estimators()))
		if err != nil {
			return err
		}
		done.note("estimators", changed)
		counted, err := e.countTokens(ctx, c)
		if err != nil {
			return err
		}
		done.note("messages counted", counted)
		for _, step := range rowRepairs {
			for range step.most {
				changed, err := c.changedBy(ctx, sqlfiles.Query(step.query))
				if err != nil {
					return queryError(step.query, err)
				}
				if done.note(step.what, changed); changed == 0 {
					break
				}
			}
		}
		shown, err := showLost(ctx, c)
		if err != nil {
			return err
		}
		done.note("summaries shown again", shown)
		archived, err := c.exec(ctx, "doctor_archive", sql.Named("at", e.now()))
		done.note("conversations archived", archived)
		return err
	})
	if err == nil {
		d.Repairs = append(d.Repairs, done.Repairs...)
	}
	return err
}

// showLost puts lost summaries back into the context. The caller is in a write transaction.
func showLost(ctx context.Context, c *connection) (int64, error) {
	var ids []string
	err := c.each(ctx, "check_lost_summaries", func(rows *sql.Rows) error {
		var fault, id string
		defer func() { ids = append(ids, id) }()
		return rows.Scan(&fault, &id)
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return c.exec(ctx, "doctor_shown", sql.Named("ids", ids))
}

// countTokens counts messages that were not. The caller is in a write transaction.
func (e *Engine) countTokens(ctx context.Context, c *connection) (counted int64, err error) {
	type uncounted struct{ id, conversation, estimator string }
	var all []uncounted
	err = c.each(ctx, "doctor_uncounted", func(rows *sql.Rows) error {
		var u uncounted
		defer func() { all = append(all, u) }()
		return rows.Scan(&u.id, &u.conversation, &u.estimator)
	})
	for _, u := range all {
		estimator, err := text.NewEstimator(u.estimator)
		if err != nil {
			return 0, fmt.Errorf("conversation %s: %w", u.conversation, err)
		}
		var m Message
		if _, err := c.one(ctx, "doctor_said", []any{&m.Seq, &m.Text, textOf(&m.Caption)}, sql.Named("id", u.id)); err != nil {
			return 0, err
		}
		m.ID, m.ConversationID = u.id, u.conversation
		if err := fillBlocks(ctx, c, []*Message{&m}); err != nil {
			return 0, err
		}
		m.count(estimator)
		if _, err := c.exec(ctx, "doctor_count", sql.Named("id", u.id), sql.Named("tokens", m.Tokens)); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), err
}

// repairIndex makes the index anew.
func (e *Engine) repairIndex(ctx context.Context, d *Diagnosis) error {
	err := e.write(ctx, "kinds", func(c *connection) error {
		_, err := c.changedBy(ctx, sqlfiles.Query("doctor_kinds"))
		return err
	})
	if err != nil {
		return err
	}
	made, err := e.RebuildIndex(ctx, RebuildRequest{})
	d.note("documents indexed", int64(made.Documents))
	d.note("vectors made", int64(made.Vectors))
	return err
}

// repairVectors deletes vectors that nothing may have, and makes those that are missing where the model is at hand.
func (e *Engine) repairVectors(ctx context.Context, d *Diagnosis) error {
	err := e.write(ctx, "vectors", func(c *connection) error {
		changed, err := c.changedBy(ctx, strings.ReplaceAll(sqlfiles.Query("doctor_vectors"), "{table}", e.chosen.table()))
		d.note("vectors deleted", changed)
		return err
	})
	if err != nil || !e.embedding() {
		return err
	}
	made, err := e.embedMissing(ctx)
	d.note("vectors made", int64(made))
	return err
}

// repairFiles deletes what lies in the folder beside the file and belongs to nothing.
func (e *Engine) repairFiles(ctx context.Context, d *Diagnosis) error {
	files, err := e.CheckPayloadFiles(ctx, true)
	if err == nil {
		d.note("files deleted", int64(len(files.Orphans)))
	}
	return err
}

// repairFallbacks asks the model again.
func (e *Engine) repairFallbacks(ctx context.Context, d *Diagnosis) error {
	made, err := e.RetryFallbacks(ctx, RetryRequest{})
	d.note("summaries made anew", int64(len(made.Rewritten)))
	return err
}

// changedBy runs statements that can't be prepared, and gives the number of rows that all of them changed.
func (c *connection) changedBy(ctx context.Context, statements string) (changed int64, err error) {
	for statement := range strings.SplitSeq(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		result, err := c.conn.ExecContext(ctx, statement)
		if err != nil {
			return changed, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}
