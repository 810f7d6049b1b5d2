// The service in Node: the routes of obbd that the benchmark uses, over Rapier or over the OBB of
// three.js. It is written for speed: one process, node:http, no framework, lengths known beforehand.
//
// Usage: node server.mjs rapier|three SOCKET
import http from 'node:http';

const scenes = new Map(); // name -> Map of name -> box

const engines = {
	async rapier() {
		const { default: RAPIER } = await import( '@dimforge/rapier3d-compat' );
		// its WebAssembly loader warns about its own use of itself
		const warn = console.warn;
		console.warn = () => {};
		await RAPIER.init();
		console.warn = warn;
		const vector = v => ( { x: v[ 0 ], y: v[ 1 ], z: v[ 2 ] } );
		const turn = q => ( { x: q[ 0 ], y: q[ 1 ], z: q[ 2 ], w: q[ 3 ] } );
		const worlds = new Map();
		const byHandle = new Map(); // of each world: collider handle -> name
		const worldOf = scene => {
			if ( ! worlds.has( scene ) ) {
				worlds.set( scene, new RAPIER.World( { x: 0, y: 0, z: 0 } ) );
				byHandle.set( scene, new Map() );
			}
			return worlds.get( scene );
		};
		return {
			put( scene, name, box ) {
				// colliders without bodies: the cheapest that Rapier has for what is only asked about
				box.shape = new RAPIER.Cuboid( ...box.half_extents );
				box.collider = worldOf( scene ).createCollider( new RAPIER.ColliderDesc( box.shape )
					.setTranslation( ...box.center ).setRotation( turn( box.rotation ) ) );
				byHandle.get( scene ).set( box.collider.handle, name );
			},
			pose( box ) {
				box.collider.setTranslation( vector( box.center ) );
				box.collider.setRotation( turn( box.rotation ) );
			},
			changed( scene ) {
				worldOf( scene ).step(); // what brings its tree up to date
			},
			pair: ( a, b ) => a.shape.intersectsShape( vector( a.center ), turn( a.rotation ), b.shape, vector( b.center ), turn( b.rotation ) ),
			overlap( scene, box ) {
				const found = [], names = byHandle.get( scene );
				worldOf( scene ).intersectionsWithShape( vector( box.center ), turn( box.rotation ), new RAPIER.Cuboid( ...box.half_extents ),
					other => {
						found.push( names.get( other.handle ) );
						return true;
					} );
				return found;
			},
			allPairs( scene ) {
				const pairs = [], names = byHandle.get( scene ), world = worldOf( scene );
				for ( const [ name, box ] of scenes.get( scene ) )
					world.intersectionsWithShape( vector( box.center ), turn( box.rotation ), box.shape, other => {
						if ( other.handle > box.collider.handle ) pairs.push( [ name, names.get( other.handle ) ] );
						return true;
					} );
				return pairs;
			},
			ray( scene, ray ) {
				const d = ray.direction, length = Math.hypot( ...d );
				const hit = worldOf( scene ).castRayAndGetNormal(
					new RAPIER.Ray( vector( ray.origin ), { x: d[ 0 ] / length, y: d[ 1 ] / length, z: d[ 2 ] / length } ), ray.max_distance, true );
				if ( hit === null ) return { hits: [] };
				const t = hit.timeOfImpact, n = hit.normal;
				return { hits: [ {
					box: byHandle.get( scene ).get( hit.collider.handle ), distance: t, fraction: t / ray.max_distance,
					point: ray.origin.map( ( x, i ) => x + d[ i ] / length * t ), normal: [ n.x, n.y, n.z ]
				} ] };
			}
		};
	},

	async three() {
		const { Matrix3, Matrix4, Quaternion, Vector3 } = await import( 'three' );
		const { OBB } = await import( 'three/addons/math/OBB.js' );
		const obb = box => new OBB( new Vector3( ...box.center ), new Vector3( ...box.half_extents ),
			new Matrix3().setFromMatrix4( new Matrix4().makeRotationFromQuaternion( new Quaternion( ...box.rotation ).normalize() ) ) );
		return {
			put( scene, name, box ) {
				box.obb = obb( box );
			},
			pose( box ) {
				box.obb = obb( box );
			},
			changed() {},
			pair: ( a, b ) => a.obb.intersectsOBB( b.obb ),
			overlap( scene, box ) { // it has no tree: every box is asked
				const asked = obb( box ), found = [];
				for ( const [ name, other ] of scenes.get( scene ) ) if ( asked.intersectsOBB( other.obb ) ) found.push( name );
				return found;
			}
		};
	}
};

const [ , , engineName, socket ] = process.argv;
const engine = await engines[ engineName ]();

function commit( scene, { put = {}, pose = {}, queries = [] } ) {
	if ( ! scenes.has( scene ) ) scenes.set( scene, new Map() );
	const boxes = scenes.get( scene );
	for ( const [ name, box ] of Object.entries( put ) ) {
		boxes.set( name, box );
		engine.put( scene, name, box );
	}
	for ( const [ name, { center, rotation } ] of Object.entries( pose ) ) {
		const box = boxes.get( name );
		box.center = center;
		box.rotation = rotation;
		engine.pose( box );
	}
	engine.changed( scene );
	return {
		put: Object.keys( put ).length, posed: Object.keys( pose ).length,
		results: queries.map( query => ( { results: query.rays.map( ray => engine.ray( scene, ray ) ) } ) )
	};
}

const queries = {
	pairs: ( scene, { pairs } ) => {
		const boxes = scenes.get( scene );
		return { results: pairs.map( ( [ a, b ] ) => ( { overlap: engine.pair( boxes.get( a ), boxes.get( b ) ) } ) ) };
	},
	overlap: ( scene, { shapes } ) => ( { results: shapes.map( box => ( { boxes: engine.overlap( scene, box ) } ) ) } ),
	'all-pairs': scene => {
		const pairs = engine.allPairs( scene );
		return { count: pairs.length, pairs };
	}
};

function answer( request, body ) {
	const [ , , , scene, what, which ] = request.url.split( '/' );
	if ( what === 'boxes' ) {
		const { center, half_extents, rotation } = scenes.get( scene ).get( which );
		return { name: which, center, half_extents, rotation };
	}
	return what === 'commit' ? commit( scene, JSON.parse( body ) ) : queries[ which ]( scene, JSON.parse( body ) );
}

function send( request, response, body ) {
	let status = 200, text;
	try {
		text = JSON.stringify( answer( request, body ) );
	} catch ( error ) {
		status = 400;
		text = JSON.stringify( { title: String( error ) } );
	}
	response.writeHead( status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength( text ) } );
	response.end( text );
}

function serve( request, response ) {
	if ( request.method === 'GET' ) {
		send( request, response, '' );
		return;
	}
	const parts = [];
	request.on( 'data', part => parts.push( part ) );
	request.on( 'end', () => send( request, response, parts.length === 1 ? parts[ 0 ].toString() : Buffer.concat( parts ).toString() ) );
}

http.createServer( serve ).listen( socket, () => {
	const tcp = http.createServer( serve ).listen( 0, '127.0.0.1', 1024, () => console.log( `http://127.0.0.1:${tcp.address().port}` ) );
} );
