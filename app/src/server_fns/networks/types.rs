//! What the Networks page shows.

use super::PrefixState;
use model::Timestamp;
use serde::{Deserialize, Serialize};

/// A block of address space as the list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The prefix.
    pub prefix: String,
    /// Part that can't be claimed, per cent: other organisations may hold some of it.
    pub used: f64,
    /// The largest prefix that is free.
    pub largest_free: Option<String>,
    /// Prefixes in it that the organisation's claims hold.
    pub claims: usize,
    /// What it is for, of one that the organisation lists by itself.
    #[serde(default)]
    pub listed: Option<String>,
}

/// What a part of a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellState {
    /// Allocated, in part if it stands for smaller parts.
    Allocated,
    /// Another organisation holds it.
    Foreign,
    /// A preview would allocate it, or a part of it.
    Preview,
    /// It was released, and names still point into it.
    Released,
    /// Free.
    Free,
}

/// One part of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The prefix.
    pub prefix: String,
    /// What it is.
    pub state: CellState,
    /// The claim that holds it or released it.
    pub claim: Option<String>,
    /// The prefix without what it shares with the block.
    pub short: String,
    /// How many addresses it has.
    pub size: String,
    /// Where it begins, per cent of the block.
    pub start: f64,
    /// Its part of the block, per cent.
    pub width: f64,
    /// What it holds, when it stands for parts that are too many to draw.
    #[serde(default)]
    pub fold: Option<Fold>,
}

/// Small parts that are drawn as the sub-prefix that holds them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// Part of the sub-prefix that is allocated, per cent.
    pub used: f64,
    /// Allocated prefixes in it.
    pub claims: usize,
}

/// A prefix in a block that a claim was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefusedPart {
    /// The prefix.
    pub prefix: String,
    /// The claim.
    pub claim: String,
    /// What is in its way, in a few words.
    pub reason: String,
    /// Where it begins, per cent of the block.
    pub start: f64,
    /// Its part of the block, per cent.
    pub width: f64,
}

/// A part of a block of a fixed length, and how much of it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubPrefix {
    /// The prefix.
    pub prefix: String,
    /// Part that can't be claimed, per cent.
    pub used: f64,
    /// Where it begins, per cent of the block.
    pub start: f64,
    /// Its part of the block, per cent.
    pub width: f64,
}

/// How many addresses of a block are what, in words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Amounts {
    /// Claims of the organisation hold them.
    pub allocated: String,
    /// Another organisation does.
    pub foreign: String,
    /// They were released, and names still point into them.
    pub released: String,
    /// The rest.
    pub free: String,
}

/// What a cell of a grid holds; one that is free is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GridState {
    /// All of it is allocated.
    Allocated,
    /// A part of it is allocated.
    Partly,
    /// Another organisation holds all of it.
    Foreign,
    /// A claim was refused space in it.
    Refused,
}

/// A cell of a grid that is not free.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GridPart {
    /// The prefix.
    pub prefix: String,
    /// Its column from the left.
    pub column: u16,
    /// Its row from the top.
    pub row: u16,
    /// What it holds.
    pub state: GridState,
}

/// A block as columns of sub-prefixes of one length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Columns.
    pub columns: u16,
    /// Cells of a column.
    pub rows: u16,
    /// The cells that are not free.
    pub parts: Vec<GridPart>,
    /// What the grid shows, in sentences.
    pub words: String,
}

/// A block with its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The block.
    pub block: Block,
    /// The next larger prefixes that can be shown, the largest first.
    pub parents: Vec<String>,
    /// First and last address.
    pub ends: (String, String),
    /// How many addresses are what.
    #[serde(default)]
    pub amounts: Amounts,
    /// The parts it has at the next length that divides it in four; none of a block too small for that.
    #[serde(default)]
    pub subs: Vec<SubPrefix>,
    /// Its parts in order, at most [`CELLS_MAX`].
    pub cells: Vec<Cell>,
    /// Parts that are drawn folded.
    pub folded: usize,
    /// The first prefixes in it that were refused, at most [`REFUSED_MAX`].
    pub refused: Vec<RefusedPart>,
    /// How many more.
    #[serde(default)]
    pub more_refused: usize,
    /// The same as a grid; `None` for a single address.
    #[serde(default)]
    pub grid: Option<Grid>,
}

/// A record of a claim, or a prefix that a claim released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// The claim.
    pub claim: String,
    /// The prefix, or what was asked for.
    pub prefix: String,
    /// The component.
    pub reference: String,
    /// Its state.
    pub state: PrefixState,
    /// What it is for.
    pub description: String,
    /// Why it is unavailable.
    pub message: Option<String>,
    /// When it was allocated, refused or released.
    pub date: Timestamp,
    /// The claim that holds what it overlaps.
    #[serde(default)]
    pub held_by: Option<String>,
    /// What became of a prefix that was released.
    #[serde(default)]
    pub gone: Option<Gone>,
    /// What releasing the claim takes; `None` of a prefix that was released.
    #[serde(default)]
    pub release: Option<Release>,
}

/// How a prefix was released, and what of it is left in DNS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// Who released it, if that is known.
    pub by: Option<String>,
    /// True when its claim still exists, without it.
    pub is_kept: bool,
    /// Domains that still point into it.
    pub domains: usize,
    /// True when there may be more of them.
    pub is_partial: bool,
}

impl Gone {
    /// The same in sentences.
    pub fn sentence(&self) -> String {
        let what = if self.is_kept { "Released from the claim" } else { "Claim deleted" };
        let by = self.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        let least = if self.is_partial { "At least " } else { "" };
        let domains = match self.domains {
            0 => String::new(),
            1 => format!(" {least}1 domain still points here."),
            n => format!(" {least}{} domains still point here.", model::words::grouped(n as u64)),
        };
        format!("{what}{by}.{domains}")
    }
}

/// What releasing a claim takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Position of the claim's newest change; the release is refused when it has changed since.
    pub position: i64,
    /// How many prefixes it holds.
    pub prefixes: usize,
}

/// A prefix whose names are listed, and who holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// The prefix.
    pub prefix: String,
    /// The claim that holds all of it, and since when.
    pub claim: Option<(String, Timestamp)>,
    /// Claimed prefixes inside it, when none holds all of it.
    pub claims: usize,
}

/// What an entry of the card *Needs attention* is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// A claim is refused.
    Refused,
    /// A name points into space that was released.
    Released,
    /// A name points into space that no claim covers.
    Unclaimed,
}

/// An entry of the card *Needs attention*.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    /// What it is about.
    pub kind: AttentionKind,
    /// The claim or the name, as code.
    pub subject: String,
    /// What is wrong with it, in a few words that follow the subject.
    pub title: String,
    /// The same in sentences, with what to do.
    pub words: String,
    /// The domain in the inventory whose record it is.
    pub domain: Option<String>,
    /// The claim that is refused or that released the space.
    pub claim: Option<String>,
    /// The address of this page with a form that claims the space.
    pub form: Option<String>,
}

/// A prefix that a claim would get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The prefix.
    pub prefix: String,
    /// Its first and last address, and how many there are.
    pub extent: String,
}

/// What a claim would get, all of it or nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// Its prefixes.
    pub gets: Vec<Gain>,
    /// Why none, in sentences.
    pub reasons: Vec<String>,
}

/// What someone may do with the registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRights {
    /// Claim prefixes.
    pub claim: bool,
    /// Release them.
    pub release: bool,
    /// List blocks and take them off the list.
    pub blocks: bool,
}

/// All of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Networks {
    /// What the reader may do.
    #[serde(default)]
    pub rights: NetworkRights,
    /// Blocks that match the search, IPv4 first, at most [`BLOCKS_MAX`].
    pub blocks: Vec<Block>,
    /// How many more.
    #[serde(default)]
    pub more_blocks: usize,
    /// All blocks there are.
    #[serde(default)]
    pub total_blocks: usize,
    /// The first block of each address family that has one, IPv4 first.
    #[serde(default)]
    pub families: Vec<String>,
    /// The block that is shown.
    pub space: Option<Space>,
    /// What needs attention, at most [`ATTENTION_EACH`] of each kind.
    pub attention: Vec<Attention>,
    /// Entries beyond, and whether not all of DNS was compared.
    pub more_attention: (usize, bool),
    /// The search that the list answers; it covers all blocks.
    pub search: String,
    /// The prefix whose names are listed.
    #[serde(default)]
    pub names: Option<Named>,
    /// The state that the list is limited to.
    pub state: Option<PrefixState>,
    /// Records by state, in the order of [`PrefixState::ALL`], before the list is limited to one.
    pub counts: [usize; 3],
    /// A page of the records of claims in the block or that match the search, refused ones first: [`ROWS_PER_PAGE`].
    pub claims: Vec<ClaimRow>,
    /// All of them.
    pub rows: usize,
    /// Which page, from 1.
    pub page: usize,
    /// Why a block was not listed.
    #[serde(default)]
    pub block_error: Option<String>,
    /// What the form would get.
    pub preview: Option<Preview>,
    /// The form as the object that it makes, where it is shown as YAML.
    #[serde(default)]
    pub yaml: Option<String>,
    /// Claims of the organisation.
    pub total: u64,
    /// True when there are more refused claims than the page reads.
    #[serde(default)]
    pub is_partial: bool,
    /// What of the page's address can't be shown, and why.
    pub error: Option<String>,
    /// The server's clock.
    pub now: Timestamp,
}

/// Blocks that are listed.
pub const BLOCKS_MAX: usize = 200;
/// Parts of a block that are drawn and listed.
pub const CELLS_MAX: usize = 256;
/// Refused prefixes that are drawn.
pub const REFUSED_MAX: usize = 12;
/// Entries of one kind that need attention which are listed.
pub const ATTENTION_EACH: usize = 10;
/// Records of claims on a page of the list.
pub const ROWS_PER_PAGE: usize = 200;
